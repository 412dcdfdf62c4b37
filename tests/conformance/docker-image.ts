import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
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
export async function importTestImage({ cli, host }: Dockerd): Promise<void> {
  const tree = mkdtempSync(join(tmpdir(), "sandboxer-image-"));
  try {
    await makeRootfs(tree);
    chmodSync(join(tree, "tmp"), 0o1777);
    // As most images come: nobody in it but root. boxd adds the sandbox's user.
    writeFileSync(join(tree, "etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n");
    writeFileSync(join(tree, "etc/group"), "root:x:0:\n");
    rmdirSync(join(tree, "home/user"));
    await copyPackages(tree);
    const archive = `${tree}.tar`;
    await run("tar", ["-C", tree, "-cf", archive, "."]);
    await run(cli, ["--host", host, "import", archive, TEST_IMAGE]);
    rmSync(archive);
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
}

/** The files of the packages and of all they need, as they are installed here. */
async function copyPackages(tree: string): Promise<void> {
  for (const name of PACKAGES) await ensureDebianPackage(name);
  await run("bash", ["-euo", "pipefail", "-c", COPY, "bash", tree, ...PACKAGES], { maxBuffer: 64 << 20 });
}

const COPY = `
tree=$1; shift
apt-cache depends --recurse --installed --no-recommends --no-suggests --no-conflicts --no-breaks \\
  --no-replaces --no-enhances "$@" | grep '^[a-z0-9]' | sort -u |
  xargs dpkg -L | grep -v '^/usr/share/\\|diverted' | sort -u |
  while read -r path; do if [ -f "$path" ]; then echo ".$path"; fi; done |
  tar -C / -c --no-recursion -T - | tar -C "$tree" -x --keep-directory-symlink`;
