/**
 * The same for JavaScript, in Node's own read-eval-print loop: names stay between cells, and a cell
 * may await. Descriptor 3 carries what becomes of it, 4 what to run. What it calls it holds itself.
 */
export const JAVASCRIPT_RUNNER = String.raw`{
const { writeSync } = require("node:fs");
const { PassThrough } = require("node:stream");
const { inspect } = require("node:util");
const { Socket } = require("node:net");
const { Script } = require("node:vm");
const { env: variables, nextTick } = process;
const { stringify, parse } = JSON;
const { assign, defineProperty, entries, fromEntries } = Object;
const Bytes = Buffer;
const { mark } = parse(process.argv.at(-1));
const later = setImmediate;
const Eventually = Promise;
let isWhole = true;
const LONGEST_LINE = 48 << 20;
class TooLong extends RangeError {
  name = "RangeError";
}
const emit = (type, more = {}) => {
  const line = stringify({ type, ...more });
  if (line.length > LONGEST_LINE) {
    throw new TooLong("a result of " + (line.length >> 20) + " MiB is more than the " + (LONGEST_LINE >> 20) + " MiB that are told");
  }
  // A line that an interrupt has cut off is not the beginning of this one.
  let rest = Bytes.from((isWhole ? "" : "\n") + line + "\n");
  isWhole = false;
  while (rest.length > 0) rest = rest.subarray(writeSync(3, rest));
  isWhole = true;
};
const LONGEST_PIECE = 1 << 20;
const isHalf = (text, at) => at < text.length && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800;
const say = (name, text) => {
  for (let at = 0, end; at < text.length; at = end) {
    end = at + LONGEST_PIECE;
    // A letter of two parts stays whole.
    if (isHalf(text, end)) end -= 1;
    emit(name, { text: text.slice(at, end) });
  }
};
for (const name of ["stdout", "stderr"]) {
  process[name].write = (data, encoding, done) => {
    say(name, typeof data === "string" ? data : Bytes.from(data).toString("utf8"));
    const told = typeof encoding === "function" ? encoding : done;
    if (told) nextTick(told);
    return true;
  };
}
class Exit extends Error {
  name = "Exit";
}
// Whoever ends the program ends a cell: the names of the others stay.
process.exit = process.reallyExit = (code = process.exitCode ?? 0) => { throw new Exit("process.exit(" + code + ")"); };
process.abort = () => process.exit(134);
const quiet = new PassThrough().resume();
const repl = require("node:repl").start({ input: new PassThrough(), output: quiet, terminal: false, useGlobal: true, prompt: "" });
const NAMES = { "text/plain": "text", "text/html": "html", "text/markdown": "markdown", "image/svg+xml": "svg", "image/png": "png", "image/jpeg": "jpeg", "application/json": "json" };
const formats = (value) => {
  const text = typeof value === "string" ? value : inspect(value);
  if (value === null || typeof value !== "object") return { text };
  const show = value[Symbol.for("Jupyter.display")];
  const shown = typeof show === "function" ? show.call(value) : {};
  return { text, ...fromEntries(entries(shown).map(([mime, data]) => [NAMES[mime] ?? mime, data])) };
};
globalThis.display = (value) => emit("result", { is_main_result: false, ...formats(value) });
const imported = (line) => line
  .replace(/^[ \t]*import\s+\*\s+as\s+(\w+)\s+from\s+(["'][^"']+["']);?/, "var $1 = await import($2);")
  .replace(/^[ \t]*import\s+(\w+)\s*,?\s*\{([^}]*)\}\s*from\s+(["'][^"']+["']);?/, (_, one, many, from) => "var { default: " + one + ", " + many.replace(/\s+as\s+/g, ": ") + " } = await import(" + from + ");")
  .replace(/^[ \t]*import\s+\{([^}]*)\}\s*from\s+(["'][^"']+["']);?/, (_, many, from) => "var { " + many.replace(/\s+as\s+/g, ": ") + " } = await import(" + from + ");")
  .replace(/^[ \t]*import\s+(\w+)\s+from\s+(["'][^"']+["']);?/, "var { default: $1 } = await import($2);")
  .replace(/^[ \t]*import\s+(["'][^"']+["']);?/, "await import($1);");
// What stands within a text or a remark is none.
const PARTS = /(^[ \t]*import\s+(?:[^"'\x60;()]*?[\s}]from\s*)?["'][^"'\n]+["'];?)|\x60(?:\\[^]|[^\x60\\])*\x60|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\/\/[^\n]*|\/\*[^]*?\*\//gm;
const imports = (code) => code.replace(PARTS, (part, line) => (line ? imported(line) : part));
const evaluate = repl.eval.bind(repl);
const within = new Script("globalThis[Symbol.for('sandboxer.cell')]()");
const settled = (code) => new Eventually((resolve, reject) => {
  // The loop asks for more lines where a cell of a file would be broken.
  const begin = () => evaluate(code + "\n", repl.context, "cell", (error, value) => (error ? reject(error.err ?? error) : resolve(value)));
  defineProperty(globalThis, Symbol.for("sandboxer.cell"), { value: begin, configurable: true });
  try {
    within.runInThisContext({ breakOnSigint: true });
  } catch (error) {
    repl._domain?.exit();
    reject(error);
  }
});
const nobody = (error) => say("stderr", "Uncaught " + inspect(error) + "\n");
let fail = nobody;
// Some versions tell what a cell throws to a domain, and to nobody else.
repl._domain?.on("error", (error) => fail(error));
process.on("uncaughtException", (error) => fail(error));
process.on("unhandledRejection", (error) => fail(error));
process.on("SIGINT", () => fail === nobody || fail(new Error("interrupted")));
// A failure of any length is told, and fits into a line.
const LONGEST_TOLD = 1 << 20;
const short = (given) => {
  const text = String(given);
  return text.length > LONGEST_TOLD ? text.slice(0, LONGEST_TOLD) + "… (" + text.length + " letters)" : text;
};
const failed = (error) => {
  const isError = error instanceof Error || (typeof error === "object" && error !== null && "message" in error);
  if (!isError) return { name: "Error", value: short(error), traceback: short(inspect(error)) };
  return { name: short(error.name ?? "Error"), value: short(error.message), traceback: short(error.stack ?? "") };
};
const withTold = (type, tell) => {
  try {
    emit(type, tell());
  } catch (error) {
    const told = error instanceof TooLong ? failed(error) : { name: "Error", value: "it cannot be told", traceback: "" };
    emit("error", told);
  }
};
let count = 0;
let last = Eventually.resolve();
const cell = async ({ code, env = {} }) => {
  const before = entries(env).map(([name]) => [name, variables[name]]);
  assign(variables, env);
  emit("number_of_executions", { execution_count: ++count });
  const broken = new Eventually((_, reject) => { fail = reject; });
  try {
    const value = await Eventually.race([settled(imports(code)), broken]);
    if (value !== undefined) withTold("result", () => ({ is_main_result: true, ...formats(value) }));
  } catch (error) {
    withTold("error", () => failed(error));
  }
  for (const [name, value] of before) value === undefined ? delete variables[name] : (variables[name] = value);
  await new Eventually((resolve) => later(resolve));
  fail = nobody;
  // What its children said on the other stream is heard before its end is.
  try {
    writeSync(2, mark + " " + count + "\n");
    emit("end_of_execution", { of: count });
  } catch {
    emit("end_of_execution");
  }
};
const end = process.kill.bind(process, process.pid, "SIGKILL");
const untold = (error) => {
  withTold("error", () => failed(error));
  emit("end_of_execution");
};
// A line's end is one letter: other ends, which readline knows too, may stand within a cell.
let parts = [];
new Socket({ fd: 4, readable: true, writable: false })
  .setEncoding("utf8")
  .on("data", (text) => {
    parts.push(text);
    if (!text.includes("\n")) return;
    const lines = parts.join("").split("\n");
    parts = [lines.pop()];
    for (const line of lines) last = last.then(() => cell(parse(line))).catch(untold);
  })
  .on("end", end)
  .on("close", end);
}`;

/** What a cell starts writes to standard error, which is not read as lines of ours. */
export const WITH_CHANNEL = ["/bin/sh", "-c", 'exec 3>&1 1>&2 4<&0 </dev/null; exec "$@"', "sh"] as const;
