// Plain JavaScript that any node can read: it finds a node new enough, then hands over to ../src. Not a
// module, and neither is the bundle: Node then starts without its loader of modules.
const { existsSync, readFileSync, statSync } = require("node:fs");
const { enableCompileCache } = require("node:module");
const { homedir } = require("node:os");
const { dirname, join } = require("node:path");

const NEEDED = 24;

if (Number(process.versions.node.split(".")[0]) >= NEEDED) start();
else startWithNewerNode();

async function start() {
  hushExpectedWarnings();
  // Not the default folder below /tmp, where another user of the machine could lie in wait.
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "sandboxer");
  const hasCache = isOurs(cache);
  if (hasCache) enableCompileCache(cache);
  const bundle = findFreshBundle();
  const { main } = bundle
    ? loadBundle(bundle, hasCache && join(cache, "commands"))
    : await import(published() ?? "../src/main.ts");
  await main(process.argv.slice(2));
}

/** What is compiled there is run: in somebody else's home (`sudo -E`) it would be theirs, with our rights. */
function isOurs(folder) {
  try {
    return [0, process.getuid?.()].includes(statSync(folder).uid);
  } catch {
    return folder !== dirname(folder) && isOurs(dirname(folder));
  }
}

/** A gateway stays: what it calls is compiled once, and what it never calls takes no room. */
function loadBundle(bundle, cache) {
  const [, , command = ""] = process.argv;
  if (!cache || command === "up") return require("../dist/main.cjs");
  return require("./compiled.cjs").loadCompiled(join(__dirname, "../dist"), { bundle, command, cache });
}

/** What is published is compiled, and has no sources beside it. */
function published() {
  return existsSync(join(__dirname, "../src/main.ts")) ? undefined : "../dist/main.js";
}

/** What `npm install` bundled starts sooner, and is used while every file it was made of is the same. */
function findFreshBundle() {
  const root = join(__dirname, "../../../");
  try {
    const { bundle, inputs } = JSON.parse(readFileSync(join(__dirname, "../dist/inputs.json"), "utf8"));
    const isFresh = inputs.every(([path, size, mtimeMs]) => {
      const now = statSync(root + path);
      return now.size === size && now.mtimeMs === mtimeMs;
    });
    return isFresh ? bundle : undefined;
  } catch {
    return undefined;
  }
}

/** SQLite, type stripping and how the bundle imports are chosen knowingly; every other warning is shown. */
function hushExpectedWarnings() {
  const emitWarning = process.emitWarning;
  process.emitWarning = (warning, ...rest) => {
    const type = typeof rest[0] === "string" ? rest[0] : rest[0]?.type;
    if (type === "ExperimentalWarning" && /SQLite|Type Stripping|DEFAULT_LOADER/.test(String(warning)))
      return;
    emitWarning.call(process, warning, ...rest);
  };
}

function startWithNewerNode() {
  const node = bundledNode();
  if (!node) {
    console.error(`error: sandboxer needs Node.js ${NEEDED} or newer; this is ${process.versions.node}`);
    process.exit(69);
  }
  const { spawn } = require("node:child_process");
  const child = spawn(node, [...process.execArgv, __filename, ...process.argv.slice(2)], {
    stdio: "inherit",
  });
  // A terminal sends Ctrl-C to both of us; anything else sends signals to this process alone.
  const onTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => (signal === "SIGINT" && onTerminal) || child.kill(signal));
  }
  child.on("exit", (code, signal) => {
    if (!signal) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

/** The npm packages that carry a node binary; an optional dependency of this one. */
function bundledNode() {
  try {
    const manifest = require.resolve(`node-linux-${process.arch}/package.json`);
    return join(manifest, "..", "bin", "node");
  } catch {
    return undefined;
  }
}
