import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { makeBlockStore, unmountBlockStore } from "@sandboxer/gateway";
import type { Sandbox } from "@sandboxer/sdk";
import { command } from "../command.ts";
import { openGatewayProcess } from "../ours/gateway-process.ts";
import type { Question } from "../question.ts";
import type { Session } from "../session.ts";
import { type Statistics, statistics } from "../statistics.ts";

const FILES = 10_000;
const MIB = 1_024;
const RUNNING_ROUNDS = 5;
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
    const running = await besideTar(session, full);
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
      data: { files: FILES, mebibytes: MIB, measures, running, ...(shared && { shared }) },
      lines: [
        `fork of a stopped sandbox: empty ${ms(measures.empty.medianMs)} ms, of ${FILES} files and ${MIB} MiB ` +
          `${ms(measures.full.medianMs)} ms, ${ratio.toFixed(2)} × (goal ≤ 1.2)`,
        `fork of a running one of ${MIB} MiB, kept: ${ms(running.fork.medianMs)} ms, ${speed(running.fork)} MiB a second; ` +
          `tar c | tar x and a sync: ${ms(running.tar.medianMs)} ms, ${speed(running.tar)} MiB a second: ` +
          `${(running.tar.medianMs / running.fork.medianMs).toFixed(2)} × its speed (goal ≥ 1.0)`,
        `it stood still for ${ms(running.still.medianMs)} ms`,
        shared
          ? `the same on a store that shares blocks: ${ms(shared.medianMs)} ms (goal ≤ 30)`
          : "no store that shares blocks: root and btrfs-progs make one",
      ],
    };
  },
};

const speed = ({ medianMs }: Statistics) => ((MIB * 1_000) / medianMs).toFixed(0);

/** Of the same files, by turns; and the longest time in which the sandbox said nothing. */
async function besideTar(
  session: Session,
  sandbox: Sandbox,
): Promise<Record<"fork" | "tar" | "still", Statistics>> {
  const { scratch } = session.placeOf("fork-tar");
  const [tree, into] = [join(scratch, "tree"), join(scratch, "into")];
  mkdirSync(tree);
  await command("sh", ["-c", WRITE], { env: { ...process.env, HOME: tree }, timeout: 600_000 });
  const samples = { fork: [] as number[], tar: [] as number[], still: [] as number[] };
  for (let round = -1; round < RUNNING_ROUNDS; round += 1) {
    session.signal.throwIfAborted();
    session.show(`running, round ${Math.max(0, round + 1)} of ${RUNNING_ROUNDS}`);
    await command("sync", ["-f", scratch]);
    const silence = await watchSilence(sandbox);
    const forkMs = await timeFork(sandbox);
    const stillMs = await silence.end();
    mkdirSync(into);
    await command("sync", ["-f", scratch]);
    const begun = performance.now();
    await command("sh", ["-c", `tar -C '${tree}' -c . | tar -C '${into}' -x && sync -f '${into}'`]);
    const tarMs = performance.now() - begun;
    rmSync(into, { recursive: true });
    if (round < 0) continue;
    samples.fork.push(forkMs);
    samples.tar.push(tarMs);
    samples.still.push(stillMs);
  }
  rmSync(tree, { recursive: true });
  return { fork: statistics(samples.fork), tar: statistics(samples.tar), still: statistics(samples.still) };
}

/** A program in it that never rests, heard from here. */
async function watchSilence(sandbox: Sandbox): Promise<{ end(): Promise<number> }> {
  const ticking = await sandbox.exec({ argv: ["sh", "-c", "while echo; do sleep 0.002; done"] });
  let [last, longest] = [0, 0];
  const heard = Promise.withResolvers<void>();
  const reading = (async () => {
    for await (const { type } of ticking.events) {
      if (type !== "stdout") continue;
      const now = performance.now();
      if (last > 0) longest = Math.max(longest, now - last);
      last = now;
      heard.resolve();
    }
  })();
  await heard.promise;
  return {
    async end() {
      await ticking.signal("KILL");
      await reading;
      return longest;
    },
  };
}

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
