import { spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Sandbox } from "@sandboxer/sdk";
import { expect, it, onTestFinished, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { ready } from "./gateway-process.ts";
import { makeHome } from "./home.ts";

const { describe } = await requires("linux-userns", "boxd", "root");

vi.setConfig({ testTimeout: 120_000 });

const CLI = fileURLToPath(new URL("../../apps/cli/bin/sandboxer.cjs", import.meta.url));

describe("a fork of a running sandbox for which there is no room", () => {
  it("RE-11 is refused with nothing half-done, and made once there is room", async () => {
    const home = makeHome(onTestFinished);
    // The small disk is mounted for this gateway alone, in a mount namespace that dies with it.
    const script = 'mount -t tmpfs -o size=256m small "$1" && exec "$2" "$3" up --port 0 --json';
    const child = spawn("unshare", ["--mount", "sh", "-c", script, "sh", home, process.execPath, CLI], {
      env: { ...process.env, SANDBOXER_HOME: home },
      stdio: ["ignore", "pipe", "ignore"],
    });
    const gateway = await ready(child);
    const disk = `/proc/${gateway.pid}/root${home}`;
    const layers = () => (existsSync(`${disk}/engine/layers`) ? readdirSync(`${disk}/engine/layers`) : []);
    const gone = { timeout: 60_000, interval: 20 };
    const { sandboxes } = gateway.client;
    const sh = async (sandbox: Sandbox, command: string) => {
      const { stdout, exit } = await sandbox.run(["sh", "-c", command]);
      expect(exit).toEqual({ kind: "exited", code: 0 });
      return new TextDecoder().decode(stdout);
    };

    for (const persistence of ["ephemeral", "persistent"] as const) {
      const sandbox = await sandboxes.create({ persistence, ttlMs: 600_000 });
      await sh(sandbox, "echo kept > ~/file; head -c 140M /dev/urandom > ~/large; sync");
      const refused = await sandbox.fork(2).catch((error) => error);
      expect(refused).toMatchObject({
        code: "storage_full",
        hint: expect.stringMatching(/^Free some space/),
      });
      await expect.poll(layers, gone).toEqual([]);
      const living = (await sandboxes.list({ states: ["provisioning", "running"] })).sandboxes;
      expect(living.map(({ id }) => id)).toEqual([sandbox.id]);
      expect(await gateway.client.snapshots.list()).toEqual([]);

      // What was deleted needs no room, though the disk's file has been as large.
      expect(await sh(sandbox, "cat ~/file; rm ~/large")).toBe("kept\n");
      const copies = await sandbox.fork(2);
      expect(layers(), "the disk was copied").toHaveLength(1);
      for (const copy of copies) expect(await sh(copy, "cat ~/file; ls ~")).toBe("kept\nfile\n");
      for (const one of [...copies, sandbox]) await one.destroy();
      await expect.poll(layers, gone).toEqual([]);
    }
    expect(await gateway.end("SIGTERM")).toBe(0);
  });
});
