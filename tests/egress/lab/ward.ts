import type { CreateBody, GuardedNetworkInput } from "@sandboxer/contract";
import type { Sandbox } from "@sandboxer/sdk";
import { expect } from "vitest";
import { KEY, MODEL } from "./keys.ts";
import { WORLD } from "./lab.ts";
import { guardProcesses } from "./processes.ts";
import { type Bench, openBench, text } from "./sandbox.ts";

/** One host unread, one that a secret is for, one that is read and has no secret. */
const RULES: NonNullable<GuardedNetworkInput["rules"]> = [
  { host: "open.test" },
  { host: "model.test" },
  { host: "other.test", inspect: true },
  { host: "other.test", protocol: "http" },
];
export const WARD: GuardedNetworkInput = { egress: "guarded", rules: RULES };

/** A bench with such a sandbox in it. */
export async function openWard(
  more: CreateBody,
  environment: Record<string, string> = {},
): Promise<{ bench: Bench; sandbox: Sandbox }> {
  const bench = await openBench(environment);
  await furnish(bench);
  return { bench, sandbox: await bench.sandbox(WARD, { ...more, secrets: ["MODEL_KEY"] }) };
}

async function furnish({ lab, client }: Bench): Promise<void> {
  const names = ["open.test", "model.test", "other.test", "late.test", "evil.test"];
  for (const name of names) await lab.name(name, [WORLD]);
  await lab.accept(KEY);
  await client.secrets.set("MODEL_KEY", { value: KEY, bindings: [MODEL] });
}

/** What a guarded sandbox gets of all it may and may not, and what the far side heard of it. */
export interface Stand {
  readonly inside: Record<string, string>;
  readonly heard: string[];
}

/** As it is when all of it holds. */
export const HOLDS: Stand = {
  inside: {
    allowed: "hello from open.test",
    denied: "no rule allows evil.test:443",
    "by address": "",
    "the key in its cell": "four",
    "the key elsewhere": "403",
    "a word in a message": "81",
    "the key in a message": "88",
    "before its rule": "",
    "with its rule": "hello from late.test",
    "after its rule": "",
  },
  heard: [
    "GET /",
    "POST /v1/messages with the key",
    "UPGRADE /ws",
    "MESSAGE text",
    "UPGRADE /ws",
    "GET /late",
  ],
};

/** Says a word in a WebSocket, and shows how what is said back begins: 81 is a text, 88 a farewell. */
const MESSAGE = `
word=$(eval "printf %s $1")
exec 3<>/dev/tcp/other.test/80 || exit
printf 'GET /ws HTTP/1.1\\r\\nHost: other.test\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n' >&3
printf 'Sec-WebSocket-Key: x\\r\\nSec-WebSocket-Version: 13\\r\\n\\r\\n' >&3
while read -r line <&3 && [ "$line" != $'\\r' ]; do :; done
printf "\\\\x81\\\\x$(printf %x $((128 + \${#word})))\\\\0\\\\0\\\\0\\\\0%s" "$word" >&3
head -c 1 <&3 | od -An -tx1
`;

export async function standOf({ lab }: Bench, sandbox: Sandbox): Promise<Stand> {
  await lab.clear();
  const say = async (line: string) => {
    const { stdout } = await sandbox.run(["sh", "-c", `curl -s --max-time 20 ${line}`]);
    return text(stdout).trim();
  };
  const unread = (url: string) => say(`--cacert /home/user/lab.pem ${url}`);
  const late = () => unread("https://late.test/late");
  const inside: Record<string, string> = {
    allowed: await unread("https://open.test/"),
    denied: why(await say("https://evil.test/")),
    "by address": await say(`-k https://${WORLD}/`),
  };
  const model = await say('-H "x-api-key: $MODEL_KEY" -d {} https://model.test/v1/messages');
  inside["the key in its cell"] = model.includes('"text":"four"') ? "four" : why(model);
  inside["the key elsewhere"] = await say(
    `-o /dev/null -w '%{http_code}' -H "x-api-key: $MODEL_KEY" https://other.test/`,
  );
  const message = async (word: string) =>
    text((await sandbox.run(["bash", "-c", MESSAGE, "bash", word])).stdout).trim();
  inside["a word in a message"] = await message("hello");
  inside["the key in a message"] = await message("$MODEL_KEY");
  inside["before its rule"] = await late();
  await sandbox.changeNetwork({ ...WARD, rules: [...RULES, { host: "late.test" }] });
  inside["with its rule"] = await late();
  await sandbox.changeNetwork(WARD);
  inside["after its rule"] = await late();
  return { inside, heard: await heardBy(lab) };
}

/** The guard is killed, and comes back by itself. */
export async function standAfterKill(bench: Bench, sandbox: Sandbox): Promise<Stand> {
  const pids = guardProcesses(bench.home, "guard/main.ts");
  expect(pids).not.toEqual([]);
  for (const pid of pids) process.kill(pid, "SIGKILL");
  const line = "curl -s --max-time 5 --cacert /home/user/lab.pem https://open.test/";
  const reached = async () => text((await sandbox.run(["sh", "-c", line])).stdout).trim();
  await expect.poll(reached, { timeout: 60_000, interval: 200 }).toBe(HOLDS.inside.allowed);
  return standOf(bench, sandbox);
}

/** What a denial says of itself. */
const why = (said: string): string => /"message":"([^"]*)"/.exec(said)?.[1] ?? said;

async function heardBy(lab: Bench["lab"]): Promise<string[]> {
  const { records } = await lab.look();
  return records.flatMap(({ kind, what, headers = [] }) => {
    if (kind === "dns") return what.includes("evil") ? [what] : [];
    // How the guard ends what it does not let go on is not a word of the sandbox's.
    if (kind === "connection" || what === "MESSAGE close") return [];
    return [headers.includes(KEY) ? `${what} with the key` : what];
  });
}
