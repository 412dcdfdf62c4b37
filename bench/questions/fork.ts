import type { Sandbox } from "@sandboxer/sdk";
import { openGatewayProcess } from "../ours/gateway-process.ts";
import type { Question } from "../question.ts";
import { statistics } from "../statistics.ts";

const FILES = 10_000;
const MIB = 1_024;
const WRITE = `mkdir -p ~/files && cd ~/files && head -c ${MIB}M /dev/urandom > ../big && \
  split -n ${FILES} -a 5 ../big part && rm ../big && sync`;

/** What a copy of a sandbox costs: of one that is stopped and full, and of one that runs. */
export const question: Question = {
  size: 20,
  async ask(session, rounds) {
    const { client } = session.keep(await openGatewayProcess(session.placeOf("fork")));
    const make = () => client.sandboxes.create({ persistence: "persistent", ttlMs: 3_600_000 });
    const [empty, full] = [await make(), await make()];
    session.show(`writing ${FILES} files of ${MIB} MiB in all`);
    const { exit } = await full.run(["sh", "-c", WRITE], { timeoutMs: 600_000 });
    if (exit.kind !== "exited" || exit.code !== 0) throw new Error("the files could not be written");
    const begun = performance.now();
    const [copy] = await full.fork(1);
    const runningMs = performance.now() - begun;
    await copy?.destroy();
    await empty.run(["true"]);
    for (const one of [empty, full]) await one.stop();

    const samples = { empty: [] as number[], full: [] as number[] };
    for (let round = -2; round < rounds; round += 1) {
      for (const [name, sandbox] of [
        ["empty", empty],
        ["full", full],
      ] as const) {
        session.signal.throwIfAborted();
        const tookMs = await timeFork(sandbox);
        if (round >= 0) samples[name].push(tookMs);
      }
      session.show(`round ${Math.max(0, round + 1)} of ${rounds}`);
    }
    const measures = { empty: statistics(samples.empty), full: statistics(samples.full) };
    const ratio = measures.full.medianMs / measures.empty.medianMs;
    const ms = (value: number) => value.toFixed(1);
    return {
      data: { files: FILES, mebibytes: MIB, measures, runningMs },
      lines: [
        `fork of a stopped sandbox: empty ${ms(measures.empty.medianMs)} ms, of ${FILES} files and ${MIB} MiB ` +
          `${ms(measures.full.medianMs)} ms, ${ratio.toFixed(2)} × (goal ≤ 1.2)`,
        `fork of a running one of ${MIB} MiB, by a snapshot: ${ms(runningMs)} ms, ` +
          `${((MIB * 1_000) / runningMs).toFixed(0)} MiB a second (at the disk's speed)`,
      ],
    };
  },
};

async function timeFork(sandbox: Sandbox): Promise<number> {
  const begun = performance.now();
  const [copy] = await sandbox.fork(1);
  const tookMs = performance.now() - begun;
  await copy?.destroy();
  return tookMs;
}
