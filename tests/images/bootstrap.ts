import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { testCache } from "../guest/debian-tree.ts";

const run = promisify(execFile);

/** The smallest Debian that has apt, of this machine's own release and from its own sources. */
export async function bootstrapDebian(): Promise<string> {
  const release = /^VERSION_CODENAME=(\w+)$/m.exec(await readFile("/etc/os-release", "utf8"))?.[1];
  if (release === undefined)
    throw new Error("this is not a release of Debian: mmdebstrap would not know which to make");
  const place = join(testCache(), `mmdebstrap-${release}.tar`);
  if (existsSync(place)) return place;
  await mkdir(testCache(), { recursive: true });
  const draft = join(testCache(), `mmdebstrap-${process.pid}.tar`);
  const lists = (await readdir("/etc/apt/sources.list.d")).filter((name) => /\.(list|sources)$/.test(name));
  const sources = ["/etc/apt/sources.list", ...lists.map((name) => `/etc/apt/sources.list.d/${name}`)];
  const argv = [
    "--variant=apt",
    "--mode=root",
    release,
    draft,
    ...sources.filter((path) => existsSync(path)),
  ];
  try {
    await run("mmdebstrap", argv, { maxBuffer: 64 << 20, timeout: 600_000 });
    await rename(draft, place);
  } finally {
    await rm(draft, { force: true });
  }
  return place;
}
