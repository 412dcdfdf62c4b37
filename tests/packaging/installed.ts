import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export const root = fileURLToPath(new URL("../..", import.meta.url));
export const run = promisify(execFile);

/** A package that this checkout has installed, as a tarball: nothing is fetched from anywhere. */
export async function packInstalled(name: string, into: string): Promise<string> {
  await mkdir(into, { recursive: true });
  const args = [
    "pack",
    "--ignore-scripts",
    "--json",
    "--pack-destination",
    into,
    join(root, "node_modules", name),
  ];
  const [packed] = JSON.parse((await run("npm", args, { cwd: into })).stdout) as { filename: string }[];
  return join(into, packed?.filename ?? "");
}

/** An empty folder with these packages in it, and nothing above it. */
export async function installIn(dir: string, tarballs: readonly string[]): Promise<void> {
  await mkdir(dir, { recursive: true });
  await writeFile(join(dir, "package.json"), JSON.stringify({ name: "user", private: true, type: "module" }));
  const args = ["install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", ...tarballs];
  await run("npm", args, { cwd: dir, timeout: 240_000 });
}
