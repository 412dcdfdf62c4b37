import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { processesOf } from "./processes.ts";
import { closeRunDirectory, openRunDirectory } from "./run-directory.ts";

it("clears what a killed run left, and leaves alone what belongs to a live one", () => {
  const { pid: deadPid } = spawnSync("true");
  const dead = mkdtempSync(join(tmpdir(), `sandboxer-run-${deadPid}-`));
  const live = mkdtempSync(join(tmpdir(), `sandboxer-run-${process.ppid}-`));
  spawn("sh", ["-c", "sleep 60; exit", dead], { stdio: "ignore" });
  const bystander = spawn("sh", ["-c", "sleep 60; exit", live], { stdio: "ignore" });
  const ours = openRunDirectory();
  expect([dead, live, ours].map((directory) => existsSync(directory))).toEqual([false, true, true]);
  expect([processesOf(dead), processesOf(live)]).toEqual([[], [bystander.pid]]);
  bystander.kill();
  closeRunDirectory(ours);
  rmSync(live, { recursive: true });
  expect(existsSync(ours)).toBe(false);
});
