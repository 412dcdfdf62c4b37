import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { findCargo } from "./cargo.js";

const boxd = fileURLToPath(new URL("../packages/boxd", import.meta.url));
const CHECKS = [
  ["fmt", "--check"],
  ["clippy", "--quiet", "--locked", "--all-targets", "--", "-D", "warnings"],
];

const found = findCargo();
if (found.problem !== undefined) console.log(`boxd is not checked: ${found.problem}`);
else {
  const { cargo, env } = found;
  for (const [component = "", ...more] of CHECKS) {
    // A minimal toolchain has neither; that is the machine's lack, not the code's fault.
    if (spawnSync(cargo, [component, "--version"], { env }).status !== 0) {
      console.log(`boxd is not checked by ${component}: \`rustup component add clippy rustfmt\``);
      continue;
    }
    const { status } = spawnSync(cargo, [component, ...more], { cwd: boxd, env, stdio: "inherit" });
    if (status !== 0) process.exit(1);
  }
}
