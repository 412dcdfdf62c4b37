import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { makeRootfs } from "../../bench/rootfs.ts";
import { ensureDebianPackage } from "../capabilities/debian.ts";
import type { Dockerd } from "../capabilities/dockerd.ts";

const run = promisify(execFile);

export const TEST_IMAGE = "sandboxer-conformance:1";

/** What the suite calls and busybox has not, or has otherwise. */
const PACKAGES = ["bash", "dash", "coreutils", "findutils", "tar", "python3-minimal", "curl"];

/** A small image made here, since tests reach no registry: static busybox below Debian's own tools. */
export async function importTestImage(
  { cli, host }: Dockerd,
  ref = TEST_IMAGE,
  more: { readonly packages?: readonly string[]; readonly folders?: readonly string[] } = {},
): Promise<void> {
  const tree = mkdtempSync(join(tmpdir(), "sandboxer-image-"));
  try {
    await makeRootfs(tree);
    chmodSync(join(tree, "tmp"), 0o1777);
    // As most images come: nobody in it but root. boxd adds the sandbox's user.
    writeFileSync(join(tree, "etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n");
    writeFileSync(join(tree, "etc/group"), "root:x:0:\n");
    rmdirSync(join(tree, "home/user"));
    await copyPackages(tree, [...PACKAGES, ...(more.packages ?? [])]);
    for (const folder of more.folders ?? []) await run("cp", ["-a", "--parents", folder, tree]);
    const archive = `${tree}.tar`;
    await run("tar", ["-C", tree, "-cf", archive, "."]);
    await run(cli, ["--host", host, "import", archive, ref]);
    rmSync(archive);
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
}

/** The files of the packages and of all they need, as they are installed here. */
async function copyPackages(tree: string, packages: readonly string[]): Promise<void> {
  for (const name of packages) await ensureDebianPackage(name);
  // As in Debian, or links that lead from one to the other would lead nowhere.
  for (const name of ["lib", "lib64"]) {
    mkdirSync(join(tree, "usr", name));
    symlinkSync(`usr/${name}`, join(tree, name));
  }
  await run("bash", ["-euo", "pipefail", "-c", COPY, "bash", tree, ...packages], { maxBuffer: 64 << 20 });
}

const COPY = `
tree=$1; shift
# Not while another test installs some.
exec 9>>/run/sandboxer-apt.lock; flock --shared 9
apt-cache depends --recurse --installed --no-recommends --no-suggests --no-conflicts --no-breaks \\
  --no-replaces --no-enhances "$@" | grep '^[a-z0-9]' | sort -u |
  xargs dpkg -L | grep -v '^/usr/share/[^n]\\|^/usr/include/\\|/perl\\|diverted' | sort -u |
  while read -r path; do if [ -f "$path" ]; then echo ".$path"; fi; done |
  tar -C / -c --no-recursion -T - | tar -C "$tree" -x --keep-directory-symlink`;
