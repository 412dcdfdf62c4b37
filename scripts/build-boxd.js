// Plain JavaScript, for any Node: `npm install` runs it before Node 24 may be on the path.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { findCargo } from "./cargo.js";

const boxd = fileURLToPath(new URL("../packages/boxd", import.meta.url));
const SLOW_MS = 1500;

if (process.platform !== "linux") {
  console.log("boxd is for Linux: not built here, and the local engine stays unavailable");
} else if (existsSync(`${boxd}/Cargo.toml`)) {
  const found = findCargo();
  // Without Rust everything but the local engine works, so the install succeeds.
  if (found.problem !== undefined) console.log(found.problem);
  else build(found);
}

/**
 * Cargo decides whether there is anything to do; its words matter only when it fails.
 *
 * @param {{ cargo: string, env: NodeJS.ProcessEnv }} found
 */
function build({ cargo, env }) {
  const slow = setTimeout(() => console.log("building boxd (Rust, once)…"), SLOW_MS);
  /** @type {Uint8Array[]} */
  const output = [];
  const child = spawn(cargo, ["build", "--release", "--locked", "--color=never"], {
    cwd: boxd,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => output.push(data));
  child.on("close", (code) => {
    clearTimeout(slow);
    if (code === 0) return;
    process.stderr.write(Buffer.concat(output));
    console.error(`boxd does not build: cargo ended with ${code}`);
    process.exitCode = 1;
  });
}
