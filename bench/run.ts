import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { closeRunDirectory, openRunDirectory } from "../tests/capabilities/run-directory.ts";
import { describeMachine } from "./machine.ts";
import { measure } from "./measure.ts";
import { cli } from "./ours/cli.ts";
import { gateway } from "./ours/gateway.ts";
import { localEngine } from "./ours/local-engine.ts";
import { bubblewrap } from "./peers/bubblewrap.ts";
import { docker } from "./peers/docker.ts";
import { dockerApi } from "./peers/docker-api.ts";
import { gvisor } from "./peers/gvisor.ts";
import { runc } from "./peers/runc.ts";
import { sandboxRuntime } from "./peers/sandbox-runtime.ts";
import { spawnTrue } from "./peers/spawn.ts";
import { makeRootfs } from "./rootfs.ts";
import type { Opened } from "./subject.ts";
import { absences, stages, table } from "./table.ts";

const OURS = [localEngine, gateway, cli];
const PEERS = [spawnTrue, bubblewrap, sandboxRuntime, runc, gvisor, dockerApi, docker];
const SUBJECTS = [...OURS, ...PEERS];
const WARM_UPS = 3;

const { values } = parseArgs({ options: { rounds: { type: "string", default: "30" } } });
const rounds = Number(values.rounds);
if (!Number.isInteger(rounds) || rounds < 1) throw new Error("--rounds is a whole number, at least 1");

const directory = openRunDirectory();
const opened: Opened[] = [];

/** Last opened, first closed. One that cannot be closed does not keep the others. */
async function closeAll(): Promise<void> {
  for (const one of opened.splice(0).reverse()) {
    await one.close().catch((error: Error) => console.error(`left behind: ${error.message}`));
  }
  closeRunDirectory(directory);
}
const interrupt = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => interrupt.abort(new Error(`ended by ${signal}`)));
}

/** One line that replaces itself, for whoever watches. */
function show(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

try {
  const rootfs = join(directory, "rootfs");
  await makeRootfs(rootfs);
  const begunAt = new Date();
  const machine = describeMachine();
  const results = await measure(SUBJECTS, {
    rounds,
    warmUps: WARM_UPS,
    signal: interrupt.signal,
    placeOf: ({ name }) => {
      const scratch = join(directory, String(SUBJECTS.findIndex((subject) => subject.name === name)));
      mkdirSync(scratch);
      return { rootfs, scratch };
    },
    onOpen: (one) => opened.push(one),
    onRound: (done) => show(`round ${done} of ${rounds}`),
  });
  show("");
  const folder = fileURLToPath(new URL("results/", import.meta.url));
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${begunAt.toISOString().replaceAll(":", "-")}.json`);
  const report = { schema: 1, begunAt, machine, rounds, warmUps: WARM_UPS, results };
  writeFileSync(file, `${JSON.stringify(report, undefined, 2)}\n`);
  const { processor, cores, kernel, cgroups, node, loadAverage } = machine;
  console.log(
    `${cores} × ${processor}, Linux ${kernel}, cgroups ${cgroups}, Node ${node}, load ${loadAverage}`,
  );
  console.log(`median / p95 in ms of ${rounds} interleaved rounds; no pool\n\n${table(results)}\n`);
  for (const line of [...stages(results), ...absences(results)]) console.log(line);
} catch (error) {
  if (!interrupt.signal.aborted) throw error;
  show("");
  console.error(interrupt.signal.reason.message);
  process.exitCode = 130;
} finally {
  await closeAll();
}
