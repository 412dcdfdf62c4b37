// Plain JavaScript that any node can read, like sandboxer.cjs.
const fs = require("node:fs");
const { join } = require("node:path");
const { constants, Script } = require("node:vm");

/** As a command is called; anything else that stands there is a mistake, and nothing is kept of it. */
const COMMAND = /^[a-z]+$/;

/**
 * Loads the bundle with what V8 made of it when the same command ran before. Node's own cache has a file
 * as it is before anything in it runs, and V8 compiles a function when it is first called: with that
 * alone, every command compiles anew whatever it calls, for a fifth of its time.
 * @param {string} dist
 * @param {{ bundle: string, command: string, cache: string }} what The bundle by what is in it: V8
 * compares no more than lengths. The cache is this user's alone: V8 runs what it finds there.
 */
exports.loadCompiled = (dist, { bundle, command, cache }) => {
  const place = `${dist.replaceAll("/", "+")}@`;
  const ours = place + bundle;
  const folder = join(cache, ours, command);
  const loaded = new Map();
  /** @type {{ name: string, script: Script }[]} */
  const compiled = [];

  /** @param {string} name */
  function load(name) {
    const known = loaded.get(name);
    if (known) return known.exports;
    const module = { exports: {} };
    loaded.set(name, module);
    const filename = join(dist, name);
    const cachedData = COMMAND.test(command) ? readOwn(join(folder, name)) : undefined;
    const script = new Script(
      `(function (exports, require, module, __filename, __dirname) { ${fs.readFileSync(filename, "utf8")}\n})`,
      { filename, cachedData, importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER },
    );
    if (!cachedData || script.cachedDataRejected) compiled.push({ name, script });
    script.runInThisContext().call(module.exports, module.exports, requireOf, module, filename, dist);
    return module.exports;
  }
  /** @param {string} name */
  const requireOf = (name) => (name.startsWith("./") ? load(name.slice(2)) : require(name));

  process.on("exit", (exitCode) => {
    // What went wrong or only showed its help has not called most of what it is there for.
    if (exitCode !== 0 || compiled.length === 0 || !COMMAND.test(command)) return;
    if (process.argv.includes("--help")) return;
    try {
      fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
      for (const { name, script } of compiled) keep(join(folder, name), script.createCachedData());
      for (const other of fs.readdirSync(cache)) {
        const isOlder = other.startsWith(place) && other !== ours;
        if (isOlder) fs.rmSync(join(cache, other), { recursive: true, force: true });
      }
    } catch {
      // It goes without, only not as quickly.
    }
  });
  return load("main.cjs");
};

/** Only what this user wrote, and nobody else can. @param {string} path */
function readOwn(path) {
  try {
    const file = fs.openSync(path, "r");
    try {
      const { uid, mode } = fs.fstatSync(file);
      return uid === process.getuid?.() && (mode & 0o022) === 0 ? fs.readFileSync(file) : undefined;
    } finally {
      fs.closeSync(file);
    }
  } catch {
    return undefined;
  }
}

/**
 * Whole or not at all, also when the power goes: V8 looks at the head of it and believes the rest.
 * @param {string} path
 * @param {Buffer} data
 */
function keep(path, data) {
  // Pids are the same in two containers with one home.
  const draft = `${path}.${Math.random().toString(36).slice(2)}`;
  fs.writeFileSync(draft, data, { mode: 0o600, flag: "wx", flush: true });
  fs.renameSync(draft, path);
}
