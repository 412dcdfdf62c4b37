// Plain JavaScript, for any Node: `npm install` runs it before Node 24 may be on the path.
import { spawnSync } from "node:child_process";
import { homedir } from "node:os";
import { join } from "node:path";

/** The first Rust that knows edition 2024. */
const LEAST_MINOR = 85;

const HOW =
  "install Rust 1.85 or newer with rustup (Debian's own `apt-get install cargo` is often too old), then run `npm install` again";

/**
 * The Rust toolchain, or one line saying what is wrong with it.
 * rustup puts cargo where only login shells look, hence the second place.
 *
 * @returns {{ cargo: string, problem?: undefined } | { cargo?: undefined, problem: string }}
 */
export function findCargo() {
  let found = "";
  for (const cargo of ["cargo", join(process.env.CARGO_HOME || join(homedir(), ".cargo"), "bin", "cargo")]) {
    const said = spawnSync(cargo, ["--version"], { encoding: "utf8" });
    if (said.status !== 0) continue;
    const version = /^cargo (1\.(\d+)\S*)/.exec(said.stdout);
    if (version && Number(version[2]) >= LEAST_MINOR) return { cargo };
    found = found || said.stdout.trim();
  }
  return {
    problem: `boxd needs Rust ${found ? `1.85 and this is ${found}` : "and there is no cargo"}: ${HOW}`,
  };
}
