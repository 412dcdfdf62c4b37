import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { ensureDebianPackage } from "../../tests/capabilities/debian.ts";
import { type Dockerd, startDockerd, stopDockerd } from "../../tests/capabilities/dockerd.ts";
import { command } from "../command.ts";
import type { Place } from "../subject.ts";

export const IMAGE = "sandboxer-bench";
export const LIVE = "live";
/** The daemon goes on tidying up for a while after it has answered. */
export const SETTLE_MS = 500;

let shared: { readonly dockerd: Promise<Dockerd>; readonly directory: string; users: number } | undefined;

/** The client of the daemon's own package, whatever else is on the PATH. */
export async function dockerVersion(): Promise<string> {
  if (process.getuid?.() !== 0) throw new Error("a daemon of our own needs root");
  await ensureDebianPackage("docker.io");
  const said = execFileSync("/usr/bin/docker", ["--version"], { encoding: "utf8" });
  return /version ([^,\s]+)/.exec(said)?.[1] ?? "unknown";
}

/** One daemon for both ways to use it, so that neither has to bear the other's idling. */
export async function openDaemon(place: Place): Promise<Dockerd> {
  shared ??= { dockerd: prepare(place), directory: daemonFolder(place), users: 0 };
  shared.users += 1;
  return shared.dockerd;
}

export async function closeDaemon(): Promise<void> {
  if (!shared || --shared.users > 0) return;
  stopDockerd(shared.directory);
  shared = undefined;
}

const daemonFolder = ({ scratch }: Place): string => join(scratch, "docker");

/** The bench's tree as an image, and one container that lives. */
async function prepare(place: Place): Promise<Dockerd> {
  const directory = daemonFolder(place);
  try {
    const dockerd = await startDockerd(directory);
    const [cli, at] = [dockerd.cli, ["--host", dockerd.host]];
    const archive = join(place.scratch, "rootfs.tar");
    await command("tar", ["-C", place.rootfs, "-cf", archive, "."]);
    await command(cli, [...at, "import", archive, IMAGE]);
    // As its container's init, sleep ignores TERM, and stopping the daemon would wait for it.
    const live = ["--detach", "--name", LIVE, "--stop-signal", "KILL", "--network=none"];
    await command(cli, [...at, "run", ...live, IMAGE, "sleep", "3600"]);
    return dockerd;
  } catch (error) {
    stopDockerd(directory);
    throw error;
  }
}
