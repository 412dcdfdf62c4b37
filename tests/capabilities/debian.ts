import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const INSTALL = fileURLToPath(new URL("install-debian-package.sh", import.meta.url));

/**
 * Makes sure a Debian package is installed: as root on Debian by installing it, elsewhere by
 * saying what to do. `SANDBOXER_INSTALL=never` keeps root's machine as it is.
 */
export async function ensureDebianPackage(name: string): Promise<void> {
  if (!existsSync("/usr/bin/dpkg-query")) throw new Error(`this is not Debian: install ${name} by hand`);
  const status = await run("dpkg-query", ["-W", "-f=${db:Status-Status}", name]).catch(() => undefined);
  if (status?.stdout === "installed") return;
  if (process.getuid?.() !== 0 || process.env.SANDBOXER_INSTALL === "never") {
    throw new Error(`not installed: \`apt-get install ${name}\` as root`);
  }
  process.stderr.write(`installing Debian's ${name}…\n`);
  await run("sh", [INSTALL, name], { maxBuffer: 64 << 20 }).catch(
    (error: { stdout: string; stderr: string }) => {
      process.stderr.write(`${error.stdout}${error.stderr}`);
      throw new Error(`\`apt-get install ${name}\` failed; its output is above`);
    },
  );
}
