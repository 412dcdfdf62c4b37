import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "rolldown";

/**
 * The conformance program for `inGuest`, as one file of plain JavaScript in `folder`. Node strips
 * types by WebAssembly, and while V8 frees that code it loses track of its pages now and then, often
 * where it is emulated: in the guest it compiles nothing (`CONFORMANCE`).
 */
export async function conformanceFiles(boxd: string, folder: string): Promise<Record<string, string>> {
  const program = join(folder, "conformance.mjs");
  await build({
    input: fileURLToPath(new URL("../conformance/as-ordinary-user.ts", import.meta.url)),
    platform: "node",
    logLevel: "warn",
    output: { file: program, format: "esm" },
  });
  return { boxd, "conformance.mjs": program };
}

export const CONFORMANCE = "node --jitless conformance.mjs";
