import { execFile } from "node:child_process";
import { cp, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));
const run = promisify(execFile);

/** In the order in which they stand on one another. */
const PACKAGES = [
  "packages/contract",
  "packages/sdk",
  "packages/core",
  "packages/extensions",
  "apps/gateway",
  "apps/cli",
];

interface Manifest {
  readonly name: string;
  readonly exports?: Readonly<Record<string, string>>;
  readonly bin?: Readonly<Record<string, string>>;
}

/**
 * Compiles every package to JavaScript and types, and packs it. Node refuses TypeScript below
 * node_modules, so what is published is not what is developed with. Answers the tarballs by name.
 */
export async function packAll(into: string): Promise<ReadonlyMap<string, string>> {
  // Beside node_modules, so that other packages' types are found; each sees only what is compiled of ours.
  const stage = join(root, "build");
  await rm(stage, { recursive: true, force: true });
  await mkdir(into, { recursive: true });
  const tarballs = new Map<string, string>();
  for (const path of PACKAGES) {
    const manifest = JSON.parse(await readFile(join(root, path, "package.json"), "utf8")) as Manifest;
    const dir = join(stage, path);
    await compile(join(root, path), dir, manifest);
    await link(dir, join(stage, "node_modules", manifest.name));
    const { stdout } = await run("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", into], {
      cwd: dir,
    });
    const [packed] = JSON.parse(stdout) as { filename: string }[];
    tarballs.set(manifest.name, join(into, packed?.filename ?? ""));
  }
  await rm(stage, { recursive: true, force: true });
  return tarballs;
}

async function compile(from: string, dir: string, manifest: Manifest): Promise<void> {
  await cp(join(from, "src"), join(dir, "src"), {
    recursive: true,
    filter: (path) => !path.endsWith(".test.ts"),
  });
  if (manifest.bin) await cp(join(from, "bin"), join(dir, "bin"), { recursive: true });
  await cp(join(root, "LICENSE"), join(dir, "LICENSE"));
  const compilerOptions = {
    noEmit: false,
    declaration: true,
    rewriteRelativeImportExtensions: true,
    rootDir: "src",
    outDir: "dist",
    allowJs: false,
    checkJs: false,
    noUnusedLocals: false,
  };
  const config = { extends: join(root, "tsconfig.json"), compilerOptions, include: ["src"] };
  await writeFile(join(dir, "tsconfig.json"), JSON.stringify(config));
  await run(join(root, "node_modules/.bin/tsc"), ["--project", dir], { cwd: dir });
  await nameCompiled(join(dir, "dist"));
  const files = ["dist", ...(manifest.bin ? ["bin"] : [])];
  await writeFile(
    join(dir, "package.json"),
    JSON.stringify({ ...manifest, ...entries(manifest), files }, undefined, 2),
  );
}

function entries({ exports = {} }: Manifest): object {
  const compiled = Object.entries(exports).map(([name, path]) => {
    const base = path.replace("./src/", "./dist/").replace(/\.ts$/, "");
    return [name, { types: `${base}.d.ts`, default: `${base}.js` }];
  });
  return { private: undefined, ...(compiled.length > 0 && { exports: Object.fromEntries(compiled) }) };
}

/** The compiler leaves the sources' endings in types; nothing of that name is published. */
async function nameCompiled(dist: string): Promise<void> {
  for (const name of await readdir(dist, { recursive: true })) {
    if (!name.endsWith(".d.ts")) continue;
    const file = join(dist, name);
    const text = await readFile(file, "utf8");
    await writeFile(file, text.replace(/(["'])(\.{1,2}\/[^"']*)\.ts\1/g, "$1$2.js$1"));
  }
}

async function link(target: string, at: string): Promise<void> {
  await mkdir(dirname(at), { recursive: true });
  await symlink(target, at);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const tarballs = await packAll(join(root, "dist"));
  for (const path of tarballs.values()) console.log(path);
}
