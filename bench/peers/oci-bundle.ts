import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** What `runc spec` proposes, without a terminal: its own namespaces, a read-only root, few capabilities. */
export function makeBundle(bundle: string, rootfs: string, argv: readonly string[]): string {
  mkdirSync(bundle, { recursive: true });
  execFileSync("/usr/sbin/runc", ["spec"], { cwd: bundle });
  const file = join(bundle, "config.json");
  const config = JSON.parse(readFileSync(file, "utf8"));
  config.process.terminal = false;
  config.process.args = argv;
  config.root.path = rootfs;
  writeFileSync(file, JSON.stringify(config));
  return bundle;
}
