import { basename, normalize } from "node:path/posix";
import { type Files, SandboxerError } from "@sandboxer/contract";
import { z } from "zod";
import { check } from "../../rest/check.ts";
import { answerJson } from "../exchange.ts";
import { readJsonBody } from "../read-body.ts";
import { makeWay } from "./make-way.ts";
import { asUser, filesOf, pathOf, type Visit } from "./visit.ts";

const NEW_FILE_MODE = 0o644;
const MOST_SOURCES = 1_000;

const requestSchema = z.object({
  source_paths: z
    .array(z.string().min(1).max(4_096))
    .max(MOST_SOURCES)
    .nonempty("source_paths must not be empty"),
  destination: z.string().min(1, "destination is required").max(4_096),
  username: z.string().optional(),
});

/** `POST /files/compose`: one file of several, in their order. They go when it is whole, and not before. */
export async function compose(visit: Visit): Promise<void> {
  const asked = check(requestSchema, await readJsonBody(visit.incoming), "body") as z.output<
    typeof requestSchema
  >;
  const as: Visit = { ...visit, user: asked.username || visit.user };
  const files = await filesOf(as);
  const destination = pathOf(asked.destination);
  const before = await files.stat(destination, asUser(as)).catch((error) => {
    if (SandboxerError.from(error).code === "path_not_found") return undefined;
    throw error;
  });
  const sources: string[] = [];
  for (const source of asked.source_paths) sources.push(await sourceOf(as, files, source, before?.path));
  if (!before) await makeWay(as, files, destination);
  await files.write(destination, contentOf(as, files, sources), {
    ...asUser(as),
    ...(!before && { mode: NEW_FILE_MODE }),
  });
  for (const source of sources) await files.remove(source, asUser(as)).catch(() => {});
  const path = normalize((await files.stat(destination, { ...asUser(as), follow: false })).path);
  answerJson(visit.outgoing, 200, { name: basename(path), path, type: "file" });
}

async function sourceOf(visit: Visit, files: Files, source: string, destination?: string): Promise<string> {
  const { type, path } = await files.stat(pathOf(source), asUser(visit)).catch((error) => {
    if (SandboxerError.from(error).code !== "path_not_found") throw error;
    throw new SandboxerError("path_not_found", `source file not found: ${source}`);
  });
  if (type !== "file") {
    throw new SandboxerError("invalid_request", `source path is not a regular file: ${source}`);
  }
  if (destination !== undefined && normalize(path) === normalize(destination)) {
    throw new SandboxerError("invalid_request", `source path "${source}" cannot be the same as destination`);
  }
  return path;
}

async function* contentOf(
  visit: Visit,
  files: Files,
  sources: readonly string[],
): AsyncGenerator<Uint8Array> {
  for (const source of sources) yield* (await files.read(source, asUser(visit))).data;
}
