import { execFile } from "node:child_process";
import { chmodSync, copyFileSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { makeRootfs } from "../../bench/rootfs.ts";
import { ensureDebianPackage } from "../capabilities/debian.ts";
import type { Dockerd } from "../capabilities/dockerd.ts";

const run = promisify(execFile);

export const TEST_IMAGE = "sandboxer-conformance:1";

/** A small image made here, since tests reach no registry: static busybox and bash. */
export async function importTestImage({ cli, host }: Dockerd): Promise<void> {
  await ensureDebianPackage("bash-static");
  const tree = mkdtempSync(join(tmpdir(), "sandboxer-image-"));
  try {
    await makeRootfs(tree);
    chmodSync(join(tree, "tmp"), 0o1777);
    // As most images come: nobody in it but root. boxd adds the sandbox's user.
    writeFileSync(join(tree, "etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n");
    writeFileSync(join(tree, "etc/group"), "root:x:0:\n");
    rmdirSync(join(tree, "home/user"));
    copyFileSync("/bin/bash-static", join(tree, "bin/bash"));
    const archive = `${tree}.tar`;
    await run("tar", ["-C", tree, "-cf", archive, "."]);
    await run(cli, ["--host", host, "import", archive, TEST_IMAGE]);
    rmSync(archive);
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
}
