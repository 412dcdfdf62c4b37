import { randomBytes } from "node:crypto";
import { createReadStream, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Image, newRowId, newSandboxId } from "@sandboxer/contract";
import { createLocalExtension } from "@sandboxer/extensions/local";
import { PLAIN_SPEC } from "../../tests/conformance/direct.ts";
import { removeEngine } from "../../tests/conformance/remove-engine.ts";
import { command } from "../command.ts";
import type { Question } from "../question.ts";
import { statistics } from "../statistics.ts";

const FOLDERS = 30;
const FILES_EACH = 100;
const FILE_BYTES = 16 * 1024;

/** What it costs to take an image in, beside `tar x`, and to make a sandbox of one that is here. */
export const question: Question = {
  size: 5,
  async ask(session, rounds) {
    const { scratch, rootfs } = session.placeOf("images");
    const dir = join(scratch, "engine");
    const extension = createLocalExtension({ dir });
    session.keep({
      async close() {
        await extension.close();
        await removeEngine(dir);
      },
    });
    const { images } = extension;
    if (!images) throw new Error("the engine keeps no images");
    const archives = await writeArchives(scratch);
    const samples: Record<string, number[]> = {};
    const time = async (name: string, round: number, work: () => Promise<unknown>) => {
      session.signal.throwIfAborted();
      const begun = performance.now();
      await work();
      if (round >= 0) samples[name] = [...(samples[name] ?? []), performance.now() - begun];
    };
    for (let round = -1; round < rounds; round += 1) {
      for (const [kind, file] of Object.entries(archives)) {
        const into = join(scratch, "into");
        mkdirSync(into);
        await time(`tar ${kind}`, round, async () => {
          await command("tar", ["-xf", file, "-C", into]);
          await command("sync", ["-f", into]);
        });
        rmSync(into, { recursive: true });
        await time(`ours ${kind}`, round, () =>
          images.import(createReadStream(file, { highWaterMark: 256 * 1024 }), {
            name: "bench",
            kind: "rootfs",
          }),
        );
        await images.remove("bench");
      }
      session.show(`round ${Math.max(0, round + 1)} of ${rounds}`);
    }
    await command("tar", ["-C", rootfs, "-cf", join(scratch, "small.tar"), "."]);
    await images.import(createReadStream(join(scratch, "small.tar")), { name: "small", kind: "rootfs" });
    const context = { installationId: newRowId("ins"), orgId: newRowId("org") };
    const kinds: Record<string, Image> = { host: { kind: "host" }, image: { kind: "oci", ref: "small" } };
    for (let round = -3; round < rounds * 10; round += 1) {
      for (const [kind, image] of Object.entries(kinds)) {
        const sandboxId = newSandboxId();
        await time(`create ${kind}`, round, async () =>
          (await extension.create({ ...PLAIN_SPEC, image }, { ...context, sandboxId })).close(),
        );
        await extension.destroy(sandboxId, context);
      }
    }
    const measures = Object.fromEntries(
      Object.entries(samples).map(([name, each]) => [name, statistics(each)]),
    );
    const median = (name: string) => measures[name]?.medianMs ?? Number.NaN;
    const unpacked = (kind: string) =>
      `${FOLDERS * FILES_EACH} files, ${(FOLDERS * FILES_EACH * FILE_BYTES) >> 20} MiB, ${kind}: ${median(`ours ${kind}`).toFixed(0)} ms, ` +
      `tar x and sync ${median(`tar ${kind}`).toFixed(0)} ms: ${(median(`tar ${kind}`) / median(`ours ${kind}`)).toFixed(2)} × its speed (goal ≥ 0.8)`;
    return {
      data: { files: FOLDERS * FILES_EACH, fileBytes: FILE_BYTES, measures },
      lines: [
        ...Object.keys(archives).map(unpacked),
        `create of an image that is here: ${median("create image").toFixed(2)} ms; of the host's programs: ${median("create host").toFixed(2)} ms`,
      ],
    };
  },
};

async function writeArchives(scratch: string): Promise<Record<string, string>> {
  const tree = join(scratch, "tree");
  // Half of it compresses away, as programs do.
  const content = Buffer.concat([randomBytes(FILE_BYTES / 2), Buffer.alloc(FILE_BYTES / 2)]);
  for (let folder = 0; folder < FOLDERS; folder += 1) {
    mkdirSync(join(tree, `d${folder}`), { recursive: true });
    for (let file = 0; file < FILES_EACH; file += 1) {
      content.writeUInt32LE(folder * FILES_EACH + file);
      writeFileSync(join(tree, `d${folder}`, `f${file}`), content);
    }
  }
  const plain = join(scratch, "tree.tar");
  const gzip = join(scratch, "tree.tar.gz");
  await command("tar", ["-C", tree, "-cf", plain, "."]);
  await command("tar", ["-C", tree, "-czf", gzip, "."]);
  rmSync(tree, { recursive: true });
  return { plain, gzip };
}
