import { readFileSync } from "node:fs";
import { watchReader } from "./reader.ts";

/**
 * To compile a schema pays for who checks by it often, and costs a short command what it takes in all.
 * So does to walk through all of a schema for places where a value may hold itself: what is checked
 * here was JSON or a command line, which cannot.
 */
const SCHEMAS_USED_ONCE = {
  jitless: true,
  memoizer: {
    alloc: (_schema: unknown, _payload: unknown, empty: unknown) => empty,
    guard() {},
    attach() {},
  },
};

/** Everything heavy is loaded by need, so that what needs little is quick. */
export async function main(args: readonly string[]): Promise<void> {
  const version = readVersion();
  const asJson = wantsJson(args);
  watchReader(asJson);
  if (args[0] === "-v" || args[0] === "--version") return void process.stdout.write(`${version}\n`);
  if (args[0] !== "up") Object.assign(globalThis, { __zod_globalConfig: SCHEMAS_USED_ONCE });
  try {
    const { runProgram } = await import("./program.ts");
    await runProgram(args, version);
  } catch (error) {
    const { report } = await import("./report.ts");
    process.exit(report(error, asJson));
  }
}

/** Looked for before the command's own arguments begin: those belong to the command. */
function wantsJson(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  return args.slice(0, end < 0 ? undefined : end).includes("--json");
}

function readVersion(): string {
  const manifest = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
