import { type ExecFileOptions, execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, symlink } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { kernelPackage } from "./kernel-package.ts";

const run = promisify(execFile);
/** Not while another test installs packages, and brings apt's lists up to date for that. */
const apt = (program: "apt-get" | "apt-cache", argv: readonly string[], options: ExecFileOptions = {}) => {
  const inTurn = process.getuid?.() === 0 ? ["flock", "--shared", "/run/sandboxer-apt.lock"] : [];
  const [first = "", ...rest] = [...inTurn, program, ...argv];
  return run(first, rest, { maxBuffer: 16 << 20, ...options, encoding: "utf8" });
};

/** apt checks every package against the archive's signed index; this holds it to that whatever its settings say. */
const SIGNED_ONLY = ["-o", "APT::Get::AllowUnauthenticated=false"];

/** What Debian keeps in /usr and shows at the root by links. */
const MERGED = ["bin", "sbin", "lib", "lib64"];

/**
 * The newest packages of this machine's Debian, unpacked into one folder and never installed. Kept
 * between runs under their versions, so that a second run needs no network.
 */
export async function debianTree(
  packages: readonly string[],
  members: readonly string[] = ["."],
): Promise<string> {
  const wanted = await newest(packages);
  const digest = createHash("sha256")
    .update(JSON.stringify([wanted, members]))
    .digest("hex");
  const cache = testCache();
  const place = join(cache, `tree-${digest.slice(0, 16)}`);
  if (existsSync(place)) return place;
  await mkdir(cache, { recursive: true });
  const aside = await mkdtemp(join(cache, "part-"));
  try {
    await apt("apt-get", ["download", "-q", ...SIGNED_ONLY, ...wanted], { cwd: aside });
    const tree = join(aside, "tree");
    for (const name of MERGED) {
      await mkdir(join(tree, "usr", name), { recursive: true });
      await symlink(`usr/${name}`, join(tree, name));
    }
    await run("sh", ["-euc", UNPACK, "sh", aside, ...members]);
    await rename(tree, place);
  } catch (error) {
    // Another test file may have been faster; its tree is the same.
    if (!existsSync(place)) throw new Error(`apt-get download failed: ${lastLine(error)}`);
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
  return place;
}

/** Where what tests fetch or build is kept between runs; all of it can be thrown away. */
export function testCache(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "sandboxer-tests");
}

/** Debian's newest kernel that is good for anything. */
export async function newestKernelPackage(): Promise<string> {
  const { stdout } = await apt("apt-cache", ["depends", "linux-image-amd64"]).catch(() => ({ stdout: "" }));
  const name = /Depends: (linux-image-\S+)/.exec(stdout)?.[1];
  if (!name) throw new Error("apt knows no linux-image-amd64: `apt-get update` as root");
  const known = await apt("apt-cache", ["pkgnames", "linux-image-"]);
  return kernelPackage(name, known.stdout.split("\n"));
}

const UNPACK = `
folder=$1; shift
for package in "$folder"/*.deb; do
  dpkg-deb --fsys-tarfile "$package" |
    tar -x -C "$folder/tree" --keep-directory-symlink --wildcards --exclude './usr/share/*' "$@"
done`;

/** These and all that they need, by apt's own reckoning: names of libraries change from one Debian to the next. */
export async function withDependencies(packages: readonly string[]): Promise<string[]> {
  const kinds = ["recommends", "suggests", "conflicts", "breaks", "replaces", "enhances"];
  const argv = ["depends", "--recurse", ...kinds.map((kind) => `--no-${kind}`), ...packages];
  const { stdout } = await apt("apt-cache", argv).catch(() => ({ stdout: "" }));
  // At the margin stand packages; behind a blank or a bar what they need; in brackets what is no package.
  return [...new Set(stdout.split("\n").filter((line) => /^[a-z0-9]/.test(line)))].sort();
}

/** Each with the version that apt would install, as apt wants to be asked for it. */
async function newest(packages: readonly string[]): Promise<string[]> {
  const show = ["show", "--no-all-versions", ...packages];
  const { stdout } = await apt("apt-cache", show).catch(() => ({ stdout: "" }));
  const versions = new Map<string, string>();
  for (const stanza of stdout.split("\n\n")) {
    const field = (name: string) => new RegExp(`^${name}: (\\S+)$`, "m").exec(stanza)?.[1] ?? "";
    versions.set(field("Package"), field("Version"));
  }
  return packages.map((name) => {
    const version = versions.get(name);
    if (!version) throw new Error(`apt knows no ${name}: \`apt-get update\` as root`);
    return `${name}=${version}`;
  });
}

function lastLine(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message: string };
  return (stderr || message).trim().split("\n").at(-1) ?? "";
}
