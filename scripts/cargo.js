// Plain JavaScript, for any Node: `npm install` runs it before Node 24 may be on the path.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";

/** The first Rust that knows edition 2024. */
const LEAST_MINOR = 85;

const HOW =
  "install Rust 1.85 or newer with rustup (Debian's own `apt-get install cargo` is often too old), then run `npm install` again";

/**
 * The Rust toolchain and the environment it needs, or one line saying what is wrong with it.
 *
 * @returns {{ cargo: string, env: NodeJS.ProcessEnv, problem?: undefined } | { problem: string }}
 */
export function findCargo() {
  let found = "";
  for (const { cargo, env } of candidates()) {
    const said = spawnSync(cargo, ["--version"], { encoding: "utf8", env });
    if (said.status !== 0) continue;
    const version = /^cargo (1\.(\d+)\S*)/.exec(said.stdout);
    if (version && Number(version[2]) >= LEAST_MINOR) return { cargo, env };
    found = found || said.stdout.trim();
  }
  return {
    problem: `boxd needs Rust ${found ? `1.85 and this is ${found}` : "and there is no cargo"}: ${HOW}`,
  };
}

/**
 * The cargo on the path; the one rustup put where only login shells look; and any cargo on the path
 * with the toolchains beside it, since rustup looks for them in HOME, which under sudo or in CI
 * need not be the home rustup was installed into.
 */
function* candidates() {
  const { env } = process;
  yield { cargo: "cargo", env };
  yield { cargo: join(env.CARGO_HOME || join(homedir(), ".cargo"), "bin", "cargo"), env };
  for (const folder of (env.PATH ?? "").split(delimiter)) {
    const toolchains = join(dirname(dirname(folder)), ".rustup");
    if (!existsSync(join(folder, "cargo")) || !existsSync(toolchains)) continue;
    yield { cargo: join(folder, "cargo"), env: { ...env, RUSTUP_HOME: toolchains } };
  }
}
