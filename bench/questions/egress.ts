import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { guardedNetworkSchema } from "@sandboxer/contract";
import { compile } from "../../packages/egress/src/policy/compile.ts";
import { decideConnection } from "../../packages/egress/src/policy/decide.ts";
import { WORLD } from "../../tests/egress/lab/lab.ts";
import { type Bench, openBench } from "../../tests/egress/lab/sandbox.ts";
import { memoryPerConnection, socketSpeed } from "../egress-sockets.ts";
import type { Question } from "../question.ts";
import { statistics } from "../statistics.ts";

const run = promisify(execFile);
/** As many as raw sockets are measured by: of fewer, opening the connection is a good part. */
const BYTES = 256 * 2 ** 20;
const RULES = 500;
const DECISIONS = 100_000;
const REQUESTS = 200;

/** What the guard adds to a connection of a sandbox, beside the same without it. Needs root, as its lab does. */
export const question: Question = {
  size: 15,
  async ask(session, rounds) {
    const bench = await openBench();
    session.keep({ close: () => bench.close() });
    await bench.lab.name("api.allowed.test", [WORLD]);
    await bench.lab.name("raw.allowed.test", [WORLD]);
    const rules = [
      { host: "api.allowed.test", access: "read-only" as const },
      { host: "raw.allowed.test", protocol: "tcp" as const, ports: [80] },
    ];
    const guarded = await guardedCurl(bench, rules);
    const direct = directCurl(bench);

    const speeds = { guarded: [] as number[], direct: [] as number[] };
    const openings = { guarded: [] as number[], direct: [] as number[] };
    const delays = { guarded: [] as number[], direct: [] as number[] };
    for (let round = 0; round < rounds; round += 1) {
      session.signal.throwIfAborted();
      const large = [
        "-w",
        "%{speed_download} %{time_starttransfer}",
        `http://raw.allowed.test/bytes/${BYTES}`,
      ];
      for (const [way, curl] of [["direct", direct] as const, ["guarded", guarded] as const]) {
        const [speed, began] = (await curl(large)).split(" ").map(Number);
        speeds[way].push(speed ?? 0);
        openings[way].push((began ?? 0) * 1_000);
      }
      const small = ["-w", "%{time_total}\n", `https://api.allowed.test/[1-${REQUESTS}]`];
      delays.direct.push(...kept(await direct(small)));
      delays.guarded.push(...kept(await guarded(small)));
    }
    const speed = { guarded: median(speeds.guarded), direct: median(speeds.direct) };
    const opening = { guarded: median(openings.guarded), direct: median(openings.direct) };
    const delay = { guarded: statistics(delays.guarded), direct: statistics(delays.direct) };
    const addsMs = delay.guarded.medianMs - delay.direct.medianMs;
    // Of each pair: what else the machine does then falls on both.
    const ratio = median(speeds.guarded.map((one, at) => one / (speeds.direct[at] ?? 1)));
    const { raw, http } = await socketSpeed(bench, session, rounds);
    const perConnection = await memoryPerConnection(bench);
    const decisionUs = decide();
    return {
      data: { speed, ratio, opening, raw, http, delay, addsMs, decisionUs, perConnection },
      lines: [
        `unread HTTP, by curl: ${mebibytes(speed.guarded)} MiB/s, on loopback ${mebibytes(speed.direct)}: ${ratio.toFixed(2)} × (goal ≥ 0.8)`,
        `unread HTTP, by a program of Python's: ${mebibytes(http.guarded)} MiB/s, on loopback ${mebibytes(http.direct)}: ${http.ratio.toFixed(2)} ×`,
        `from its name to its first byte: ${opening.guarded.toFixed(1)} ms, on loopback ${opening.direct.toFixed(1)}`,
        `raw sockets: ${mebibytes(raw.guarded)} MiB/s, on loopback ${mebibytes(raw.direct)}: ${raw.ratio.toFixed(2)} × (goal ≥ 0.35)`,
        `a kept HTTPS request that is read: ${delay.guarded.medianMs.toFixed(2)} ms, direct ${delay.direct.medianMs.toFixed(2)}: adds ${addsMs.toFixed(2)} (goal ≤ 2)`,
        `a decision among ${RULES} rules: ${decisionUs.toFixed(2)} µs (goal ≤ 20)`,
        `an open connection: ${perConnection.unread.toFixed(1)} KiB unread, ${perConnection.read.toFixed(1)} KiB read, guard and relay together (goal ≤ 100)`,
      ],
    };
  },
};

type Curl = (args: readonly string[]) => Promise<string>;
const QUIET = ["--silent", "--show-error", "--insecure", "-o", "/dev/null"];

async function guardedCurl(bench: Bench, rules: Parameters<Bench["sandbox"]>[0]["rules"]): Promise<Curl> {
  const sandbox = await bench.sandbox(rules ? { rules } : {});
  return async (args) => {
    const { stdout, stderr } = await sandbox.run(["curl", ...QUIET, ...args], { limitBytes: 1_000_000 });
    if (stderr.length > 0) throw new Error(new TextDecoder().decode(stderr));
    return new TextDecoder().decode(stdout);
  };
}

/** On loopback, where the servers are. */
function directCurl({ lab }: Bench): Curl {
  const names = ["api.allowed.test:443", "raw.allowed.test:80"].flatMap((name) => [
    "--resolve",
    `${name}:127.0.0.1`,
  ]);
  return async (args) => {
    const [command = "", ...rest] = [...lab.beside, "curl", ...QUIET, ...names, ...args];
    return (await run(command, rest, { maxBuffer: 1_000_000 })).stdout;
  };
}

/** In ms, without the first, which opened the connection. */
const kept = (text: string): number[] =>
  text
    .trim()
    .split("\n")
    .slice(1)
    .map((seconds) => Number(seconds) * 1_000);

function decide(): number {
  const rules = Array.from({ length: RULES }, (_, at) => ({
    host: `${at % 2 ? "**." : ""}h${at}.example.com`,
  }));
  const policy = compile(guardedNetworkSchema.parse({ egress: "guarded", rules }));
  const begun = performance.now();
  for (let at = 0; at < DECISIONS; at += 1)
    decideConnection(policy, { host: `a.h${at % RULES}.example.com`, port: 443 });
  return ((performance.now() - begun) * 1_000) / DECISIONS;
}

const median = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
const mebibytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(0);
