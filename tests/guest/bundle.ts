import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "rolldown";

/**
 * A program with all it imports, for `inGuest`: one file of plain JavaScript in `folder`. Node strips
 * types by WebAssembly, and while V8 frees that code it loses track of its pages now and then, often
 * where it is emulated.
 */
export async function bundleFor(program: URL, folder: string): Promise<string> {
  const input = fileURLToPath(program);
  const file = join(folder, basename(input).replace(/\.ts$/, ".mjs"));
  await build({
    input,
    platform: "node",
    logLevel: "warn",
    output: { file, format: "esm", codeSplitting: false },
  });
  return file;
}

/** How a guest runs it: nothing is compiled there, for the same reason. */
export const inOneFile = (name: string): string => `node --jitless ${name}`;
