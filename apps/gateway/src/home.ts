import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** Where one installation keeps everything. Light to import: the CLI looks here before it loads more. */
export function homeDirectory(): string {
  return process.env.SANDBOXER_HOME || join(homedir(), ".sandboxer");
}

/** The root key, where this home has one. SANDBOXER_API_KEY goes before it. */
export function findRootKey(home: string): string | undefined {
  return process.env.SANDBOXER_API_KEY || read(join(home, "root.key"))?.trim();
}

/** A gateway that listens for this home. */
export interface Running {
  readonly url: string;
  readonly pid: number;
  /** When it began to listen, for people. */
  readonly startedAt: string;
  /** The kernel's word for when the process began: with it a pid is never mistaken for an earlier one. */
  readonly processStart: string;
}

export function findRunning(home: string): Running | undefined {
  const text = read(join(home, "gateway.json"));
  if (text === undefined) return undefined;
  try {
    const running = JSON.parse(text) as Running;
    return processStart(running.pid) === running.processStart ? running : undefined;
  } catch {
    return undefined;
  }
}

export function announceRunning(home: string, url: string): () => void {
  const file = join(home, "gateway.json");
  const { pid } = process;
  const running: Running = {
    url,
    pid,
    startedAt: new Date().toISOString(),
    processStart: processStart(pid) ?? "",
  };
  writePrivately(file, `${JSON.stringify(running)}\n`);
  return () => rmSync(file, { force: true });
}

/** Whole or not at all, and never readable by others, not even for a moment. */
export function writePrivately(file: string, text: string): void {
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, text, { mode: 0o600 });
  renameSync(draft, file);
}

/** Field 22 of /proc/<pid>/stat, counted after the command's name, which may hold anything. */
function processStart(pid: number): string | undefined {
  const stat = read(`/proc/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
