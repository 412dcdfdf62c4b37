import { execFile, spawn } from "node:child_process";
import { mkdirSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { endProcessesOf, pauseMs, readOrNothing } from "./processes.ts";

const run = promisify(execFile);
const STARTS_WITHIN_MS = 90_000;
const STOPS_WITHIN_MS = 30_000;

export interface Dockerd {
  /** The client that came with the daemon; another one on the PATH may not fit. */
  readonly cli: string;
  /** For DOCKER_HOST or `--host`. */
  readonly host: string;
  readonly version: string;
}

/**
 * A dockerd of our own: everything it writes is in `directory`, and it touches neither the host's
 * packet filter nor its interfaces, so containers have no network.
 */
export async function startDockerd(
  directory: string,
  runtimes: Readonly<
    Record<string, { readonly path: string; readonly runtimeArgs?: readonly string[] }>
  > = {},
): Promise<Dockerd> {
  mkdirSync(directory, { recursive: true });
  const at = (name: string): string => join(directory, name);
  const host = `unix://${at("docker.sock")}`;
  writeFileSync(at("daemon.json"), JSON.stringify({ runtimes }));
  const log = openSync(at("log"), "a");
  const daemon = spawn(
    "/usr/sbin/dockerd",
    [
      ...["--host", host, "--config-file", at("daemon.json"), "--pidfile", at("docker.pid")],
      ...["--data-root", at("data"), "--exec-root", at("exec")],
      ...["--iptables=false", "--ip6tables=false", "--ip-forward=false", "--bridge=none"],
      "--exec-opt=native.cgroupdriver=cgroupfs",
    ],
    // In a session of its own, Ctrl-C reaches us alone and we stop it in order.
    {
      detached: true,
      stdio: ["ignore", log, log],
      env: { ...process.env, PATH: "/usr/sbin:/usr/bin:/sbin:/bin" },
    },
  );
  const failed = new Promise<never>((_, reject) => {
    daemon.once("error", reject);
    daemon.once("exit", () => reject(new Error(`dockerd ended: ${lastWords(at("log"))}`)));
  });
  daemon.unref();
  const cli = "/usr/bin/docker";
  const ready = (async () => {
    for (const deadline = Date.now() + STARTS_WITHIN_MS; Date.now() < deadline; await sleep(100)) {
      const said = await run(cli, ["--host", host, "version", "--format", "{{.Server.Version}}"]).catch(
        () => undefined,
      );
      if (said) return { cli, host, version: said.stdout.trim() };
    }
    throw new Error(`dockerd did not answer in time: ${lastWords(at("log"))}`);
  })();
  return Promise.race([ready, failed]);
}

/** Ends the daemon that `startDockerd` left in `directory`, in order, so that it takes its containers along. */
export function stopDockerd(directory: string): void {
  const pid = Number(readOrNothing(join(directory, "docker.pid")));
  // A pid may have been given to somebody else since: only a process that names our folder is ours.
  const isOurs = (): boolean => pid > 0 && readOrNothing(`/proc/${pid}/cmdline`).includes(directory);
  if (isOurs()) process.kill(pid, "SIGTERM");
  for (const deadline = Date.now() + STOPS_WITHIN_MS; isOurs() && Date.now() < deadline; ) pauseMs(50);
  endProcessesOf(directory);
}

function lastWords(log: string): string {
  return readOrNothing(log).trim().split("\n").slice(-3).join(" | ");
}
