import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { vi } from "vitest";
import type { Lab } from "./lab.ts";

/** A server of OpenSSH's where the lab's servers are. */
export interface Sshd {
  /** As `ssh-keygen -l` shows it. */
  readonly fingerprint: string;
  /** As a line of `known_hosts` has it, after the name. */
  readonly hostKey: string;
  /** What it has written so far, which may be later than what it did. */
  log(): string;
  close(): void;
}

interface Place {
  readonly path: string;
  readonly dir: string;
  readonly address: string;
  readonly authorized: readonly string[];
}

export async function startSshd(lab: Lab, { path, dir, address, authorized }: Place): Promise<Sshd> {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  // Where its children are locked up; the server wants it to be there.
  mkdirSync("/run/sshd", { recursive: true, mode: 0o755 });
  const hostKey = makeKey(join(dir, "host"), "ed25519");
  writeFileSync(join(dir, "authorized"), authorized.join("\n"));
  const config = [
    ...["Port 22", `ListenAddress ${address}`, `HostKey ${join(dir, "host")}`, "PidFile none"],
    ...[`AuthorizedKeysFile ${join(dir, "authorized")}`, "StrictModes no", "UsePAM no", "LogLevel VERBOSE"],
    ...["PasswordAuthentication no", "KbdInteractiveAuthentication no", "PermitRootLogin yes"],
  ];
  writeFileSync(join(dir, "config"), `${config.join("\n")}\n`);
  writeFileSync(join(dir, "log"), "");
  const [command = "", ...args] = [...lab.beside, path, "-D", "-f", join(dir, "config")];
  const child = spawn(command, [...args, "-E", join(dir, "log")], { stdio: "ignore" });
  const log = () => readFileSync(join(dir, "log"), "utf8");
  await vi.waitUntil(() => log().includes("Server listening"), { timeout: 60_000 });
  return {
    fingerprint: fingerprintOf(`${join(dir, "host")}.pub`),
    hostKey: hostKey.public.split(" ").slice(0, 2).join(" "),
    log,
    close: () => void child.kill(),
  };
}

/** A new pair: what is kept, and what everybody may know. */
export function makeKey(
  path: string,
  type: "ed25519" | "ecdsa" | "rsa",
): { private: string; public: string; fingerprint: string } {
  execFileSync("ssh-keygen", ["-q", "-t", type, "-N", "", "-C", "lab", "-f", path]);
  return {
    private: readFileSync(path, "utf8"),
    public: readFileSync(`${path}.pub`, "utf8").trim(),
    fingerprint: fingerprintOf(`${path}.pub`),
  };
}

function fingerprintOf(path: string): string {
  return execFileSync("ssh-keygen", ["-l", "-f", path], { encoding: "utf8" }).split(" ")[1] ?? "";
}
