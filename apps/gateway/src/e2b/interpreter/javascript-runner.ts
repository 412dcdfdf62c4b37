/**
 * The same for JavaScript, in Node's own read-eval-print loop: names stay between cells, and a cell
 * may await. Descriptor 3 carries what becomes of it.
 */
export const JAVASCRIPT_RUNNER = String.raw`
const { writeSync } = require("node:fs");
const { PassThrough } = require("node:stream");
const { inspect } = require("node:util");
const { createInterface } = require("node:readline");
const emit = (type, more = {}) => writeSync(3, JSON.stringify({ type, ...more }) + "\n");
for (const name of ["stdout", "stderr"]) {
  process[name].write = (data, encoding, done) => {
    emit(name, { text: typeof data === "string" ? data : Buffer.from(data).toString("utf8") });
    const told = typeof encoding === "function" ? encoding : done;
    if (told) process.nextTick(told);
    return true;
  };
}
const quiet = new PassThrough().resume();
const repl = require("node:repl").start({ input: new PassThrough(), output: quiet, terminal: false, useGlobal: true, prompt: "" });
const formats = (value) => {
  const text = typeof value === "string" ? value : inspect(value);
  if (value === null || typeof value !== "object") return { text };
  const shown = typeof value[Symbol.for("Jupyter.display")] === "function" ? value[Symbol.for("Jupyter.display")]() : {};
  const names = { "text/html": "html", "text/markdown": "markdown", "image/svg+xml": "svg", "image/png": "png", "application/json": "json" };
  const known = Object.fromEntries(Object.entries(shown).map(([mime, data]) => [names[mime] ?? mime, data]));
  return { text, ...known };
};
globalThis.display = (value) => emit("result", { is_main_result: false, ...formats(value) });
const imports = (code) => code
  .replace(/^[ \t]*import\s+\*\s+as\s+(\w+)\s+from\s+(["'][^"']+["']);?/gm, "var $1 = await import($2);")
  .replace(/^[ \t]*import\s+(\w+)\s*,?\s*\{([^}]*)\}\s*from\s+(["'][^"']+["']);?/gm, (_, one, many, from) => "var { default: " + one + ", " + many.replace(/\s+as\s+/g, ": ") + " } = await import(" + from + ");")
  .replace(/^[ \t]*import\s+\{([^}]*)\}\s*from\s+(["'][^"']+["']);?/gm, (_, many, from) => "var { " + many.replace(/\s+as\s+/g, ": ") + " } = await import(" + from + ");")
  .replace(/^[ \t]*import\s+(\w+)\s+from\s+(["'][^"']+["']);?/gm, "var { default: $1 } = await import($2);")
  .replace(/^[ \t]*import\s+(["'][^"']+["']);?/gm, "await import($1);");
const evaluate = (code) => new Promise((resolve, reject) =>
  repl.eval(code + "\n", repl.context, "cell", (error, value) => (error ? reject(error) : resolve(value))));
const settled = async (code) => {
  try {
    return await evaluate(code);
  } catch (error) {
    // The loop asks for more lines where a cell of a file would be broken.
    throw error?.err ?? error;
  }
};
let fail = () => {};
// Some versions tell what a cell throws to a domain, and to nobody else.
repl._domain?.on("error", (error) => fail(error));
process.on("uncaughtException", (error) => fail(error));
process.on("unhandledRejection", (error) => fail(error));
process.on("SIGINT", () => fail(new Error("interrupted")));
let count = 0;
let last = Promise.resolve();
async function cell({ code, env = {} }) {
  const before = Object.fromEntries(Object.keys(env).map((name) => [name, process.env[name]]));
  Object.assign(process.env, env);
  emit("number_of_executions", { execution_count: ++count });
  const broken = new Promise((_, reject) => { fail = reject; });
  broken.catch(() => {});
  try {
    const value = await Promise.race([settled(imports(code)), broken]);
    if (value !== undefined) emit("result", { is_main_result: true, ...formats(value) });
  } catch (error) {
    const isError = error instanceof Error || (typeof error === "object" && error !== null && "message" in error);
    emit("error", { name: isError ? error.name ?? "Error" : "Error", value: isError ? error.message : String(error), traceback: isError ? error.stack ?? "" : inspect(error) });
  }
  for (const [name, value] of Object.entries(before)) value === undefined ? delete process.env[name] : (process.env[name] = value);
  await new Promise(setImmediate);
  emit("end_of_execution");
}
createInterface({ input: process.stdin }).on("line", (line) => { last = last.then(() => cell(JSON.parse(line))); }).on("close", () => process.exit(0));
`;

/** What a cell starts writes to standard error, which is not read as lines of ours. */
export const WITH_CHANNEL = ["/bin/sh", "-c", 'exec 3>&1 1>&2; exec "$@"', "sh"] as const;
