import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ensureDebianPackage } from "../tests/capabilities/debian.ts";

const BUSYBOX = "/bin/busybox";
const FOLDERS = ["bin", "dev", "etc", "home/user", "proc", "root", "sys", "tmp", "usr", "var"];

/** The smallest tree that everybody can start: one static busybox under its many names. */
export async function makeRootfs(path: string): Promise<void> {
  await ensureDebianPackage("busybox-static");
  for (const folder of FOLDERS) mkdirSync(join(path, folder), { recursive: true });
  copyFileSync(BUSYBOX, join(path, "bin/busybox"));
  for (const applet of execFileSync(BUSYBOX, ["--list"], { encoding: "utf8" }).split("\n")) {
    if (applet && applet !== "busybox") symlinkSync("busybox", join(path, "bin", applet));
  }
  symlinkSync("../bin", join(path, "usr/bin"));
  writeFileSync(
    join(path, "etc/passwd"),
    "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/home/user:/bin/sh\n",
  );
  writeFileSync(join(path, "etc/group"), "root:x:0:\nuser:x:1000:\n");
}
