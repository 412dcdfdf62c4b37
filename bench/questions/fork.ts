import { join } from "node:path";
import { makeBlockStore, unmountBlockStore } from "@sandboxer/gateway";
import type { Sandbox } from "@sandboxer/sdk";
import { openGatewayProcess } from "../ours/gateway-process.ts";
import type { Question } from "../question.ts";
import type { Session } from "../session.ts";
import { type Statistics, statistics } from "../statistics.ts";

const FILES = 10_000;
const MIB = 1_024;
const STORE_BYTES = 8 * 2 ** 30;
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
    const shared = await onSharedBlocks(session, rounds);
    return {
      data: { files: FILES, mebibytes: MIB, measures, runningMs, ...(shared && { shared }) },
      lines: [
        `fork of a stopped sandbox: empty ${ms(measures.empty.medianMs)} ms, of ${FILES} files and ${MIB} MiB ` +
          `${ms(measures.full.medianMs)} ms, ${ratio.toFixed(2)} × (goal ≤ 1.2)`,
        `fork of a running one of ${MIB} MiB, by a snapshot: ${ms(runningMs)} ms, ` +
          `${((MIB * 1_000) / runningMs).toFixed(0)} MiB a second (at the disk's speed)`,
        shared
          ? `the same on a store that shares blocks: ${ms(shared.medianMs)} ms (goal ≤ 30)`
          : "no store that shares blocks: root and btrfs-progs make one",
      ],
    };
  },
};

/** On a store of its own, where this machine can make one. */
async function onSharedBlocks(session: Session, rounds: number): Promise<Statistics | undefined> {
  const place = session.placeOf("fork-shared");
  const home = join(place.scratch, "home");
  try {
    await makeBlockStore(home, { bytes: STORE_BYTES });
  } catch {
    return undefined;
  }
  const { client, close } = await openGatewayProcess(place);
  try {
    const sandbox = await client.sandboxes.create({ ttlMs: 3_600_000 });
    session.show("writing them once more, on a store that shares blocks");
    await sandbox.run(["sh", "-c", WRITE], { timeoutMs: 600_000 });
    const samples: number[] = [];
    for (let round = -2; round < rounds; round += 1) {
      const tookMs = await timeFork(sandbox);
      if (round >= 0) samples.push(tookMs);
    }
    await sandbox.destroy();
    return statistics(samples);
  } finally {
    await close();
    await unmountBlockStore(home);
  }
}

async function timeFork(sandbox: Sandbox): Promise<number> {
  const begun = performance.now();
  const [copy] = await sandbox.fork(1);
  const tookMs = performance.now() - begun;
  await copy?.destroy();
  return tookMs;
}
