import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Something that reached the far side. */
export interface Recorded {
  readonly kind: "dns" | "connection" | "request";
  readonly what: string;
  readonly headers?: string[];
  readonly body?: string;
}

export type WorldOrder = { readonly id: number } & (
  | { readonly op: "look" | "clear" }
  | { readonly op: "accept"; readonly key: string }
  | { readonly op: "serve"; readonly dir: string }
  | { readonly op: "name"; readonly name: string; readonly answers: string[][] }
);

export interface WorldAnswer {
  readonly records: Recorded[];
  /** Everything that came over the wire, of whatever kind. */
  readonly packets: number;
  readonly live: number;
  readonly ca: string;
}

/** Addresses of the open internet, in a network that has no other machine. */
export const WORLD = "93.184.216.34";
export const OTHER = "93.184.216.35";
export const PRIVATE = "10.9.9.9";
export const METADATA = "169.254.169.254";
const GUARD = "93.184.0.2";
const [WORLD_MAC, GUARD_MAC] = ["02:00:00:00:00:01", "02:00:00:00:00:02"];
const SETTLES_WITHIN_MS = 30_000;

/** For what must not reach the machine that the guard runs on. */
export interface Trap {
  caught(): number;
  close(): void;
}

/** A network with two ends: the world at one, the guard at the other, and nothing else at all. */
export interface Lab {
  /** What starts the guard at its end. */
  readonly prefix: readonly string[];
  readonly dns: readonly string[];
  /** What starts a program where the servers are. */
  readonly beside: readonly string[];
  /** The name has these addresses; given several lists, each question gets the next. */
  name(name: string, ...answers: string[][]): Promise<void>;
  /** The model API at `/v1/messages` takes this key from now on, and no other. */
  accept(key: string): Promise<void>;
  /** The files of a folder are at `/static/` from now on. */
  serve(dir: string): Promise<void>;
  look(): Promise<WorldAnswer>;
  /** Resolves once nothing comes over the wire any more: the ends of earlier connections may be late. */
  settle(): Promise<void>;
  /** Listens on every address of the guard's own end, and tells who came. */
  trap(): Promise<Trap>;
  clear(): Promise<void>;
  close(): void;
}

export async function openLab(): Promise<Lab> {
  const world = spawn("unshare", ["--net", process.execPath, here("world.ts")], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  await once(world, "message");
  const end = spawn("unshare", ["--net", "cat"], { stdio: ["pipe", "pipe", "inherit"] });
  end.stdin?.write("ready\n");
  await once(end.stdout as NonNullable<typeof end.stdout>, "data");
  await wire(world.pid as number, end.pid as number);
  return labOf(world, end);
}

async function wire(world: number, guard: number): Promise<void> {
  await run("ip", [
    ...["link", "add", "w0", "address", WORLD_MAC, "netns", `${world}`, "type", "veth"],
    ...["peer", "name", "g0", "address", GUARD_MAC, "netns", `${guard}`],
  ]);
  const at = (pid: number, line: string) =>
    run("nsenter", [`--net=/proc/${pid}/ns/net`, "ip", ...line.split(" ")]);
  for (const address of [`${WORLD}/16`, `${OTHER}/16`, `${PRIVATE}/8`, `${METADATA}/16`]) {
    await at(world, `addr add ${address} dev w0`);
  }
  await at(guard, `addr add ${GUARD}/16 dev g0`);
  for (const [pid, name] of [
    [world, "w0"],
    [guard, "g0"],
  ] as const) {
    await at(pid, `link set ${name} mtu 65535 addrgenmode none`);
    for (const up of ["lo", name]) await at(pid, `link set ${up} up`);
  }
  // Both know the other's card for good: a question about it would count as something that got out.
  await at(world, `neigh replace ${GUARD} lladdr ${GUARD_MAC} dev w0 nud permanent`);
  for (const address of [WORLD, OTHER]) {
    await at(guard, `neigh replace ${address} lladdr ${WORLD_MAC} dev g0 nud permanent`);
  }
  // Whatever is dialled gets there: that nothing does is then the guard's doing.
  await at(guard, `route add default via ${WORLD}`);
}

function labOf(world: ChildProcess, end: ChildProcess): Lab {
  let last = 0;
  const ask = (order: Record<string, unknown>): Promise<WorldAnswer> => {
    last += 1;
    const id = last;
    return new Promise((resolve) => {
      const hear = (answer: unknown) => {
        if ((answer as { id?: number }).id !== id) return;
        world.off("message", hear);
        resolve(answer as WorldAnswer);
      };
      world.on("message", hear);
      world.send({ ...order, id });
    });
  };
  return {
    prefix: ["nsenter", `--net=/proc/${end.pid}/ns/net`, "--"],
    dns: [WORLD],
    beside: ["nsenter", `--net=/proc/${world.pid}/ns/net`, "--"],
    name: async (name, ...answers) => void (await ask({ op: "name", name, answers })),
    accept: async (key) => void (await ask({ op: "accept", key })),
    serve: async (dir) => void (await ask({ op: "serve", dir })),
    look: () => ask({ op: "look" }),
    async settle() {
      let [packets, quiet] = [-1, 0];
      for (
        const deadline = Date.now() + SETTLES_WITHIN_MS;
        quiet < 5 && Date.now() < deadline;
        await sleep(50)
      ) {
        const now = await ask({ op: "look" });
        quiet = now.packets === packets && now.live === 0 ? quiet + 1 : 0;
        packets = now.packets;
      }
    },
    trap: () => setTrap(["nsenter", `--net=/proc/${end.pid}/ns/net`, "--"]),
    clear: async () => void (await ask({ op: "clear" })),
    close() {
      world.disconnect();
      end.stdin?.end();
    },
  };
}

async function setTrap([command = "", ...args]: readonly string[]): Promise<Trap> {
  const script =
    'require("net").createServer((one) => { console.log("caught"); one.destroy(); }).listen(80, "::", () => console.log("ready"))';
  const child = spawn(command, [...args, process.execPath, "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (words: string) => {
    said += words;
  });
  await once(child.stdout, "data");
  return { caught: () => said.split("caught").length - 1, close: () => void child.kill() };
}

const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url));
