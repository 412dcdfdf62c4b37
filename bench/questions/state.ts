import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Box } from "@sandboxer/contract";
import { type Engine, openEngine } from "../ours/engine.ts";
import type { Question } from "../question.ts";
import { type Statistics, statistics } from "../statistics.ts";

const FOLDERS = 1_000;
const FILES_EACH = 100;
const CHANGES = 1_000;

const ms = (value: number) => value.toFixed(1);

/** What a large project costs: to work on a copy of it, and to say what was changed. */
export const question: Question = {
  size: 30,
  async ask(session, rounds) {
    const place = session.placeOf("state");
    const project = join(place.scratch, "project");
    session.show(`writing ${FOLDERS * FILES_EACH} files`);
    writeProject(project);
    const engine = session.keep(await openEngine(place));

    const samples: Record<string, number[]> = { plain: [], workspace: [] };
    for (let round = -3; round < rounds; round += 1) {
      for (const [name, workspace] of [
        ["plain", undefined],
        ["workspace", project],
      ] as const) {
        session.signal.throwIfAborted();
        const begun = performance.now();
        const box = await engine.create(workspace);
        if (round >= 0) samples[name]?.push(performance.now() - begun);
        await engine.destroy(box);
      }
      session.show(`round ${Math.max(0, round + 1)} of ${rounds}`);
    }

    const box = await engine.create(project);
    const fresh = await timeRuns(engine, box, rounds);
    await engine.run(box, ["sh", "-c", `for i in $(seq 1 ${CHANGES}); do echo new >> f$i/file1; done`]);
    const diffs = { names: [] as number[], patch: [] as number[] };
    for (const detail of ["names", "patch"] as const) {
      for (let round = 0; round < 10; round += 1) {
        const begun = performance.now();
        const count = await countChanges(box, detail);
        diffs[detail].push(performance.now() - begun);
        if (count !== CHANGES) throw new Error(`${count} changes were told`);
      }
    }
    const changed = await timeRuns(engine, box, rounds);
    box.close();
    const more = ({ plain, pointed }: Runs) =>
      `${plain.toFixed(2)} ms, ${(pointed - plain).toFixed(2)} more with a point before it`;
    const measures = Object.fromEntries(
      Object.entries({ ...samples, ...diffs }).map(([name, each]) => [name, statistics(each)]),
    ) as Record<"plain" | "workspace" | "names" | "patch", Statistics>;
    return {
      data: { files: FOLDERS * FILES_EACH, changes: CHANGES, measures, runs: { fresh, changed } },
      lines: [
        `create: ${ms(measures.plain.medianMs)} ms; over ${FOLDERS * FILES_EACH} files copy-on-write: ` +
          `${ms(measures.workspace.medianMs)} ms, ${ms(measures.workspace.medianMs - measures.plain.medianMs)} more (goal ≤ 10)`,
        `diff of ${CHANGES} changes: ${ms(measures.names.medianMs)} ms, with patches ${ms(measures.patch.medianMs)} ms (goal < 1,000)`,
        `a run, nothing changed yet: ${more(fresh)}; with ${CHANGES} changes in as many folders: ${more(changed)}`,
      ],
    };
  },
};

interface Runs {
  readonly plain: number;
  readonly pointed: number;
}

/** Medians of runs with and without a point, in turns. */
async function timeRuns(engine: Engine, box: Box, rounds: number): Promise<Runs> {
  const samples = { plain: [] as number[], pointed: [] as number[] };
  for (let round = -3; round < rounds; round += 1) {
    for (const [name, points] of [
      ["plain", undefined],
      ["pointed", 32],
    ] as const) {
      const begun = performance.now();
      await engine.run(box, ["true"], points);
      if (round >= 0) samples[name].push(performance.now() - begun);
    }
  }
  return { plain: statistics(samples.plain).medianMs, pointed: statistics(samples.pointed).medianMs };
}

function writeProject(project: string): void {
  for (let folder = 1; folder <= FOLDERS; folder += 1) {
    const path = join(project, `f${folder}`);
    mkdirSync(path, { recursive: true });
    for (let file = 1; file <= FILES_EACH; file += 1)
      writeFileSync(join(path, `file${file}`), "line\n".repeat(20));
  }
}

async function countChanges(box: Box, detail: "names" | "patch"): Promise<number> {
  let count = 0;
  for await (const _ of (await box.workspace?.changes({ detail })) ?? []) count += 1;
  return count;
}
