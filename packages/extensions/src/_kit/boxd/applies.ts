import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { ByteSource } from "@sandboxer/contract";
import { askBoxd } from "./command.ts";

/** More comes back from no honest run, and a sparse file is as large as it says. */
export const MOST_BYTES_BACK = 16 * 2 ** 30;

/** What `boxd apply` reads: a length, that many bytes of JSON, and then an archive. */
export async function* headed(header: string, archive: ByteSource): AsyncGenerator<Uint8Array> {
  const text = Buffer.from(header);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  yield Buffer.concat([length, text]);
  yield* archive;
}

/** Makes good what an apply left that died. */
export async function recoverApplies(boxdPath: string, dir: string): Promise<void> {
  const left = await readdir(join(dir, "applies")).catch(() => []);
  if (left.length > 0) await askBoxd(boxdPath, ["apply", "--recover", dir]);
}
