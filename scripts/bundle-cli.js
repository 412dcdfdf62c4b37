// Plain JavaScript, for any Node: `npm install` runs it before Node 24 may be on the path.
import { createHash } from "node:crypto";
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { schemasLater } from "./bundle/later.js";
import { removeOldParts } from "./bundle/old-parts.js";
import { startsOf } from "./bundle/running.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const dist = join(root, "apps/cli/dist");
const gate = join(dist, "inputs.json");

/**
 * What the parser of command lines imports and few command lines need. As modules they bring much
 * along: `node:process` opens all three standard streams, `node:util` loads threads.
 * @type {Readonly<Record<string, string>>}
 */
const BY_NEED_OF_COMMANDER = {
  "node:process": "export default globalThis.process;",
  "node:child_process": `export default {
    spawn: (...given) => process.getBuiltinModule("node:child_process").spawn(...given),
  };`,
  "node:util": `export const stripVTControlCharacters = (text) =>
    process.getBuiltinModule("node:util").stripVTControlCharacters(text);`,
};

/** Parts of Node that a short command seldom calls; a name that is missing here fails the bundling. */
const BY_NEED = {
  "node:zlib": [
    "brotliDecompressSync",
    "createBrotliDecompress",
    "createGunzip",
    "createInflate",
    "createZstdDecompress",
    "deflateSync",
    "gunzipSync",
    "inflateSync",
    "zstdDecompressSync",
  ],
  "node:child_process": ["execFile", "spawn"],
};

/**
 * A module of functions that load the part when they are called. Who promises what one of them gives
 * promises what the part itself would: `execFile` has its own way of it.
 * @param {string} part
 * @param {readonly string[]} names
 */
function loadedWhenCalled(part, names) {
  const functions = names.map(
    (name) => `export const ${name} = (...given) => part().${name}(...given);
      ${name}[Symbol.for("nodejs.util.promisify.custom")] = (...given) =>
        process.getBuiltinModule("node:util").promisify(part().${name})(...given);`,
  );
  return [`const part = () => process.getBuiltinModule("${part}");`, ...functions].join("\n");
}

/** By the name of a module that has no file. @type {Record<string, string>} */
const VIRTUAL = {
  ...Object.fromEntries(
    Object.entries(BY_NEED_OF_COMMANDER).map(([part, code]) => [`\0commander/${part}`, code]),
  ),
  ...Object.fromEntries(
    Object.entries(BY_NEED).map(([part, names]) => [`\0${part}`, loadedWhenCalled(part, names)]),
  ),
};

const [rolldown, parser] = await Promise.all([import("rolldown"), import("rolldown/parseAst")]).catch(
  () => [],
);
// Without it everything works from the sources, only not as quickly.
if (rolldown && parser) await bundle(rolldown.build, parser.parseAst);

/**
 * @param {typeof import("rolldown").build} build
 * @param {typeof import("rolldown/parseAst").parseAst} parseAst
 */
async function bundle(build, parseAst) {
  // Shut while files change: without it the command line starts from the sources.
  rmSync(gate, { force: true });
  /** @type {Set<string>} */
  const sources = new Set(["node_modules/.package-lock.json"]);
  const { output } = await build({
    input: join(root, "apps/cli/src/main.ts"),
    platform: "node",
    logLevel: "warn",
    plugins: [
      schemasLater(parseAst),
      {
        name: "by-need",
        resolveId: (id, importer = "") =>
          [importer.includes("commander") ? `\0commander/${id}` : `\0${id}`].find((name) => name in VIRTUAL),
        load: (id) => VIRTUAL[id],
      },
      {
        name: "sources",
        transform(code, id) {
          const path = relative(root, id);
          if (!id.startsWith(root) || path.split(sep).includes("node_modules")) return undefined;
          sources.add(path);
          // A module goes on finding what lies beside its source.
          const itself = `new URL(${JSON.stringify(relative(dist, id))}, import.meta.url).href`;
          return { code: code.replaceAll("import.meta.url", itself) };
        },
      },
    ],
    output: {
      dir: dist,
      // Not as modules: those read everything that a part of Node has before they take one thing of it.
      format: "cjs",
      entryFileNames: "[name].cjs",
      chunkFileNames: "[name]-[hash].cjs",
      minify: { compress: true, mangle: false, codegen: true },
    },
  });
  const parts = output.map(({ fileName }) => fileName);
  removeOldParts(dist, { atMs: Date.now(), parts }, startsOf(join(root, "apps/cli/bin/sandboxer.cjs")));
  const inputs = [...sources].map((path) => {
    const { size, mtimeMs } = statSync(join(root, path));
    return [path, size, mtimeMs];
  });
  writeFileSync(`${gate}.new`, JSON.stringify({ bundle: identityOf(output), inputs }));
  renameSync(`${gate}.new`, gate);
}

/** Every other part is named by what is in it. @param {readonly { fileName: string }[]} parts */
function identityOf(parts) {
  const names = parts.map(({ fileName }) => fileName);
  const main = readFileSync(join(dist, "main.cjs"));
  return createHash("sha256").update(names.join()).update(main).digest("hex").slice(0, 16);
}
