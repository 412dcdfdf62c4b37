import { spawn } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { rowsOf, troubleInTheBooks } from "./books.ts";
import { ready } from "./gateway-process.ts";
import { makeHome } from "./home.ts";

const { describe } = await requires("linux-userns", "boxd", "root");

vi.setConfig({ testTimeout: 120_000 });

const CLI = fileURLToPath(new URL("../../apps/cli/bin/sandboxer.cjs", import.meta.url));
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => "ok",
    (error: { code?: string }) => error.code,
  );
const text = ({ stdout }: { stdout: Uint8Array }) => new TextDecoder().decode(stdout);

describe("a full disk", () => {
  it("RE-11 refuses what would need it, spares what runs, and is over when there is room again", async () => {
    const home = makeHome(onTestFinished);
    // The small disk is mounted for this gateway alone, in a mount namespace that dies with it.
    const script = 'mount -t tmpfs -o size=8m small "$1" && exec "$2" "$3" up --port 0 --json';
    const argv = ["--mount", "sh", "-c", script, "sh", home, process.execPath, CLI];
    const child = spawn("unshare", argv, {
      env: { ...process.env, SANDBOXER_HOME: home },
      stdio: ["ignore", "pipe", "ignore"],
    });
    const gateway = await ready(child);
    const disk = `/proc/${gateway.pid}/root${home}`;
    const { sandboxes } = gateway.client;
    const sandbox = await sandboxes.create({ ttlMs: 120_000 });
    const ticking = await sandbox.exec({ argv: ["sh", "-c", "while echo tick; do sleep 0.05; done"] });
    const ticks = ticking.events[Symbol.asyncIterator]();
    await ticks.next();

    await sandbox.files.write("/home/user/file", "kept\n");
    await sandbox.snapshot({ name: "before" });
    fill(`${disk}/ballast`);
    const shelf = () => readdirSync(`${disk}/snapshots`);
    const shelved = shelf();
    expect(await codeOf(sandbox.snapshot({ name: "in-the-middle" }))).toBe("storage_full");
    expect(shelf(), "nothing half-done").toEqual(shelved);
    expect(await codeOf(sandboxes.create({ from: "before" }))).toBe("storage_full");
    for (let attempt = 0; attempt < 5; attempt++) {
      expect(await codeOf(sandboxes.create({ ttlMs: 60_000 }))).toBe("storage_full");
    }
    expect((await sandboxes.list({ states: ["running"] })).sandboxes.map(({ id }) => id)).toEqual([
      sandbox.id,
    ]);
    for (let more = 0; more < 3; more++) expect((await ticks.next()).value).toMatchObject({ type: "stdout" });
    expect((await sandbox.refresh()).state).toBe("running");

    rmSync(`${disk}/ballast`);
    await expect.poll(() => codeOf(sandbox.run(["true"]))).toBe("ok");
    expect((await gateway.client.snapshots.list()).map(({ name }) => name)).toEqual(["before"]);
    const restored = await sandboxes.create({ from: "before", ttlMs: 60_000 });
    expect(text(await restored.run(["cat", "/home/user/file"]))).toBe("kept\n");
    await restored.destroy();
    const another = await sandboxes.create({ ttlMs: 60_000 });
    expect(text(await another.run(["echo", "room"]))).toBe("room\n");
    await another.destroy();
    await sandbox.destroy();
    // Copied out, since SQLite would look for the path that the kernel's link names.
    const copy = makeHome(onTestFinished);
    for (const name of ["state.db", "state.db-wal"])
      writeFileSync(`${copy}/${name}`, readFileSync(`${disk}/${name}`));
    expect(rowsOf(copy).filter(({ ended }) => ended === null)).toEqual([]);
    expect(troubleInTheBooks(copy)).toEqual({ money: [], events: [] });
    const integrity = new DatabaseSync(`${copy}/state.db`).prepare("PRAGMA integrity_check").get();
    expect(integrity).toEqual({ integrity_check: "ok" });
    expect(await gateway.end("SIGTERM")).toBe(0);
  });
});

/** Writes until not one more byte fits. */
function fill(path: string): void {
  const file = openSync(path, "w");
  try {
    for (let size = 65_536; size >= 1; size = size > 1 ? size >> 4 : 0) {
      try {
        for (;;) writeSync(file, new Uint8Array(size));
      } catch {
        // Smaller pieces may still fit.
      }
      if (size === 1) return;
    }
  } finally {
    closeSync(file);
  }
}
