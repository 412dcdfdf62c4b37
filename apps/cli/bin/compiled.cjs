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
    const cachedData = COMMAND.test(command) ? readIfThere(join(folder, name)) : undefined;
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
    // What went wrong has not called most of what it is there for.
    if (exitCode !== 0 || compiled.length === 0 || !COMMAND.test(command)) return;
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

/** @param {string} path */
function readIfThere(path) {
  try {
    return fs.readFileSync(path);
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
  const draft = `${path}.${process.pid}`;
  fs.writeFileSync(draft, data, { mode: 0o600, flush: true });
  fs.renameSync(draft, path);
}
