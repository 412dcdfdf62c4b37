import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createConnection, createServer } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Box,
  collect,
  type Extension,
  execRequestSchema,
  newRowId,
  newSandboxId,
} from "@sandboxer/contract";
import { createLocalExtension } from "@sandboxer/extensions/local";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { PLAIN_SPEC } from "../conformance/direct.ts";
import { removeEngine } from "../conformance/remove-engine.ts";
import { initPidOf, namespacesOf, processesIn } from "./host-view.ts";

const { describe } = await requires("linux-userns", "boxd");

const context = { installationId: newRowId("ins"), orgId: newRowId("org") };
const canary = `canary${newSandboxId()}`;
const HOSTILE_RUNS = 1_000;

/** What a hostile program answers: it tries everything it is given and says what worked. */
const REACH = `
import socket, sys
def attempt(kind, family, address):
    try:
        s = socket.socket(family, kind); s.settimeout(1)
        if kind == socket.SOCK_DGRAM:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1); s.sendto(b"${canary}", address)
        else:
            s.connect(address)
        print("reached", address)
    except OSError as error: print("refused", address, error.errno)
port = int(sys.argv[1])
for host in sys.argv[2:]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    attempt(socket.SOCK_STREAM, family, (host, port))
for group in ["255.255.255.255", "224.0.0.1"]:
    attempt(socket.SOCK_DGRAM, socket.AF_INET, (group, port))
for kind in [(socket.AF_PACKET, socket.SOCK_RAW), (socket.AF_INET, socket.SOCK_RAW)]:
    try: socket.socket(*kind); print("reached raw")
    except OSError as error: print("refused raw", error.errno)
`;

describe("two sandboxes of one engine", () => {
  let dir: string;
  let extension: Extension;
  let a: Box;
  let b: Box;
  const start = (box: Box, argv: string[], more: object = {}) =>
    box.exec(execRequestSchema.parse({ argv, ...more }), "att");
  const run = async (box: Box, argv: string[], more: object = {}) => {
    const { stdout, stderr, exit } = await collect(await start(box, argv, more));
    return { text: Buffer.from(stdout).toString(), errors: Buffer.from(stderr).toString(), exit };
  };
  /** Starts what goes on for as long as its sandbox, and waits for its first word. */
  const background = async (box: Box, script: string) => {
    const process = await start(box, ["python3", "-c", script]);
    for await (const event of process.events) if (event.type === "stdout") break;
  };

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "sandboxer-cross-"));
    extension = createLocalExtension({ dir });
    [a, b] = [
      await extension.create(PLAIN_SPEC, { ...context, sandboxId: newSandboxId() }),
      await extension.create(
        { ...PLAIN_SPEC, env: { SECRET: canary } },
        { ...context, sandboxId: newSandboxId() },
      ),
    ];
  });
  afterAll(async () => {
    for (const box of [a, b]) await extension.destroy(box.ref, context);
    await extension.close();
    await removeEngine(dir);
  });

  it("XS-1 have no network path to each other or to the host", async () => {
    const host = createServer().listen(0, "::");
    await once(host, "listening");
    const { port } = host.address() as AddressInfo;
    const listen = `import socket, time
s = socket.socket(); s.bind(("0.0.0.0", ${port})); s.listen()
v6 = socket.socket(socket.AF_INET6); v6.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1); v6.bind(("::", ${port})); v6.listen()
print("up", flush=True); time.sleep(600)`;
    await background(b, listen);
    const heard: string[] = [];
    host.on("connection", (socket) => heard.push(`${socket.remoteAddress}`));
    const addresses = Object.values(networkInterfaces()).flatMap(
      (list) => list?.map(({ address }) => address) ?? [],
    );
    const everywhere = [
      "127.0.0.1",
      "127.0.0.2",
      "::1",
      "198.18.0.1",
      "169.254.169.254",
      "fe80::1",
      ...addresses,
    ];
    const fromA = await run(a, ["python3", "-c", REACH, `${port}`, ...everywhere]);
    expect(fromA.text.split("\n").filter((line) => line.startsWith("reached"))).toEqual([]);
    expect(fromA.text.match(/refused/g)?.length, fromA.errors).toBe(everywhere.length + 4);
    expect(heard).toEqual([]);
    expect((await run(a, ["cat", "/proc/net/route", "/proc/net/dev"])).text).not.toMatch(
      /^\s*(eth|veth|en|wl)/m,
    );
    // Controls: whoever may reach them does.
    expect((await run(b, ["python3", "-c", REACH, `${port}`, "127.0.0.1"])).text).toContain(
      `reached ('127.0.0.1', ${port})`,
    );
    await once(createConnection(port, "127.0.0.1"), "connect");
    await expect.poll(() => heard).toHaveLength(1);
    host.close();
    const net = [a, b].map((box) => namespacesOf(initPidOf(dir, box.ref)).net);
    expect(new Set([...net, namespacesOf("self").net]).size).toBe(3);
  });

  it("XS-3 see nothing of each other's files, processes and variables, and cannot signal each other", async () => {
    const plant = `mkdir -p /tmp/x ~/y && echo ${canary} > /tmp/x/${canary} && echo ${canary} > ~/y/${canary}`;
    await run(b, ["sh", "-c", plant]);
    await background(
      b,
      `import os, time; os.chdir("/tmp/x"); print("up", flush=True); time.sleep(600)  # ${canary}`,
    );
    const find = `find / -name '*${canary}*' -not -path '/proc/*' 2>/dev/null; grep -rsl ${canary} /tmp /home /run /var /dev/shm 2>/dev/null; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep ${canary} | grep -v grep; true`;
    const search = await run(a, ["sh", "-c", find.replaceAll(canary, "$0"), canary]);
    // The search names what it looks for on its own command line, and nothing else may.
    expect(search.text.split("\n").filter((line) => line !== "" && line !== canary)).toEqual([]);
    const control = await run(b, ["sh", "-c", `find /tmp /home -name '*${canary}*'`]);
    expect(control.text.trim().split("\n"), "control: it is there to be found").toHaveLength(2);

    const inside = processesIn(namespacesOf(initPidOf(dir, b.ref)).pid ?? "");
    expect(inside.length).toBeGreaterThan(1);
    for (const user of ["user", ...(process.getuid?.() === 0 ? ["root"] : [])]) {
      const kills = inside.map((pid) => `kill -9 ${pid}`).join("; ");
      await run(a, ["sh", "-c", `${kills}; kill -9 -1`], { user }).catch(() => {});
    }
    expect(processesIn(namespacesOf(initPidOf(dir, b.ref)).pid ?? "")).toEqual(inside);
  });

  it("XS-4 cannot meet in the abstract socket namespace, nor meet the host there", async () => {
    const bind = `import socket, time; s = socket.socket(socket.AF_UNIX); s.bind("\\0${canary}"); s.listen(); print("up", flush=True); time.sleep(600)`;
    const connect = `import socket; socket.socket(socket.AF_UNIX).connect("\\0${canary}"); print("met")`;
    await background(b, bind);
    const refused = await run(a, ["python3", "-c", connect]);
    expect(refused.text).toBe("");
    expect(refused.errors).toMatch(/ConnectionRefused|Errno 111/);
    expect((await run(b, ["python3", "-c", connect])).text, "control").toBe("met\n");
    const host = createServer().listen(`\0host${canary}`);
    await once(host, "listening");
    const other = connect.replace(canary, `host${canary}`);
    expect((await run(a, ["python3", "-c", other])).text).toBe("");
    await once(createConnection(`\0host${canary}`), "connect");
    host.close();
  });

  it("XS-5 share no memory, semaphores or queues", async () => {
    const plant = `echo ${canary} > /dev/shm/${canary}; ipcmk -M 4096 -S 1 -Q; cat /proc/sysvipc/shm`;
    const made = await run(b, ["sh", "-c", plant]);
    expect(made.text.trim().split("\n").length, `control: ${made.text}${made.errors}`).toBeGreaterThanOrEqual(
      5,
    );
    const seen = await run(a, [
      "sh",
      "-c",
      "ls -A /dev/shm /dev/mqueue 2>/dev/null; tail -qn +2 /proc/sysvipc/*",
    ]);
    expect(seen.text.replace(/^\/dev\/\w+:$/gm, "").trim()).toBe("");
    expect(readFileSync("/proc/sysvipc/shm", "utf8")).not.toContain(" 4096 ");
  });

  it("XS-7 leave the layers below them as they were, whatever they try", async () => {
    const layers = readdirSync(join(dir, "images")).map((name) => join(dir, "images", name));
    const programs = ["/usr/bin/env", "/usr/bin/sh", ...setuidFiles("/usr/bin")];
    const before = [...layers.map(hashOf), hashFiles(programs)];
    const removal = "rm -rf /etc /home /bin /usr /var /opt 2>/dev/null";
    const hostile = [
      "for f in /etc/hosts /usr/bin/env /usr/bin/su; do echo x > $f; chmod 7777 $f; mv $f $f.x; ln -f $f /tmp/l; : > /proc/self/root$f; done 2>/dev/null",
      "mount -o remount,rw / 2>/dev/null; mount -o remount,rw,bind /usr 2>/dev/null; touch /usr/planted",
      "dd if=/dev/zero of=/usr/bin/env bs=1 count=1 conv=notrunc 2>/dev/null; truncate -s 0 /etc/group",
    ];
    const users = ["user", ...(process.getuid?.() === 0 ? ["root"] : [])];
    const attacks = Array.from({ length: HOSTILE_RUNS }, (_, at) => ({
      script: hostile[at % hostile.length] as string,
      user: users[at % users.length] as string,
    }));
    const last = users.map((user) => ({ script: removal, user }));
    let ran = 0;
    // Each sandbox is attacked many times from inside, and destroys itself at its end.
    const attackOn = async () => {
      const one = await extension.create(PLAIN_SPEC, { ...context, sandboxId: newSandboxId() });
      for (const { script, user } of [...attacks.splice(-50), ...last.splice(-1)]) {
        const { text } = await run(one, ["/usr/bin/sh", "-c", `echo ran; ${script}`], { user });
        ran += text === "ran\n" ? 1 : 0;
      }
      await extension.destroy(one.ref, context);
    };
    while (attacks.length > 0) await Promise.all([attackOn(), attackOn()]);
    expect(ran).toBe(HOSTILE_RUNS + users.length);
    expect([...layers.map(hashOf), hashFiles(programs)]).toEqual(before);
    forget([...layers.flatMap(filesBelow), ...programs]);
    expect([...layers.map(hashOf), hashFiles(programs)], "and on the disk itself").toEqual(before);
    expect((await run(b, ["cat", "/etc/passwd"])).text).toContain("root:x:0:0");
    // Control: one byte in a copy is seen.
    const copy = await mkdtemp(join(tmpdir(), "sandboxer-layer-"));
    await cp(layers[0] ?? "", copy, { recursive: true });
    const untouched = hashOf(copy);
    await writeFile(join(copy, "etc/hostname"), "sandboy\n");
    expect(hashOf(copy)).not.toBe(untouched);
    await rm(copy, { recursive: true });
  }, 300_000);
});

const setuidFiles = (folder: string) =>
  readdirSync(folder)
    .map((name) => join(folder, name))
    // A package may be installed meanwhile, by another test, under names that do not stay.
    .filter((path) => ((lstatSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o6000) !== 0);

/** What the kernel holds of these files in memory is dropped, and read again from the disk. */
function forget(paths: readonly string[]): void {
  const script =
    "import os, sys\nfor path in sys.stdin.read().split('\\0'):\n  fd = os.open(path, os.O_RDONLY); os.fsync(fd); os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED); os.close(fd)";
  execFileSync("python3", ["-c", script], {
    input: paths.filter((path) => lstatSync(path).isFile()).join("\0"),
  });
}

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" }).map((path) => join(folder, path));

/** Names, modes, owners and content of everything below a folder. */
function hashOf(folder: string): string {
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
  return hashFiles(
    paths.map((path) => join(folder, path)),
    folder.length,
  );
}

function hashFiles(paths: readonly string[], from = 0): string {
  const hash = createHash("sha256");
  for (const path of paths) {
    const found = lstatSync(path);
    hash.update(`${path.slice(from)} ${found.mode} ${found.uid} ${found.gid}\n`);
    if (found.isFile()) hash.update(readFileSync(path));
    if (found.isSymbolicLink()) hash.update(readlinkSync(path));
  }
  return hash.digest("hex");
}
