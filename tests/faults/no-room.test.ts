import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { ready } from "./gateway-process.ts";
import { makeHome } from "./home.ts";

const { describe } = await requires("linux-userns", "boxd", "root");

vi.setConfig({ testTimeout: 120_000 });

const CLI = fileURLToPath(new URL("../../apps/cli/bin/sandboxer.cjs", import.meta.url));
const MIB = 2 ** 20;

describe("no room in the middle", () => {
  it("RE-11 of a fork or a setup: typed, and nothing of it is left", async () => {
    const home = makeHome(onTestFinished);
    // The small disk is mounted for this gateway alone, in a mount namespace that dies with it.
    const script = 'mount -t tmpfs -o size=48m small "$1" && exec "$2" "$3" up --port 0 --json';
    const child = spawn("unshare", ["--mount", "sh", "-c", script, "sh", home, process.execPath, CLI], {
      env: { ...process.env, SANDBOXER_HOME: home, SANDBOXER_POOL: "0" },
      stdio: ["ignore", "pipe", "ignore"],
    });
    const { client, pid, end } = await ready(child);
    const disk = `/proc/${pid}/root${home}`;
    const rooms = ["drafts", "layers", "names", "records", "setups"].map(
      (room) => `engine/images/oci/${room}`,
    );
    const names = (room: string) => {
      try {
        return readdirSync(`${disk}/${room}`).map((name) => `${room}/${name}`);
      } catch {
        return [];
      }
    };
    const kept = () => [...rooms, "snapshots", "engine/boxes", "engine/layers"].flatMap(names).sort();
    const living = async () => (await client.sandboxes.list({ states: ["running"] })).sandboxes.length;

    const source = await client.sandboxes.create({ ttlMs: 600_000 });
    await source.files.write("/home/user/big", randomBytes(8 * MIB));
    const steps = [["sh", "-c", "head -c 3000000 /dev/urandom > ~/made; sync"]];

    const work: Record<string, () => Promise<unknown>> = {
      "a fork": async () => {
        for (const copy of await source.fork(1)) await copy.destroy();
      },
      "a setup": async () => {
        await (await client.sandboxes.create({ setup: steps, ttlMs: 60_000 })).destroy();
        await expect
          .poll(() => client.images.prune().then(() => names("engine/images/oci/layers")))
          .toEqual([]);
      },
    };
    const before = kept();
    const fill = (leaveBytes: number) => {
      const { bavail, bsize } = statfsSync(disk);
      writeFileSync(`${disk}/ballast`, Buffer.alloc(bavail * bsize - leaveBytes));
    };
    for (const [what, doIt] of Object.entries(work)) {
      fill(5 * MIB);
      await expect(doIt(), what).rejects.toMatchObject({ code: "storage_full" });
      rmSync(`${disk}/ballast`);
      await expect.poll(kept, { timeout: 30_000 }).toEqual(before);
      expect(await living(), what).toBe(1);
      await doIt();
      await expect.poll(kept, { timeout: 30_000 }).toEqual(before);
    }
    expect((await source.run(["true"])).exit).toEqual({ kind: "exited", code: 0 });
    await source.destroy();
    expect(await end("SIGTERM")).toBe(0);
  });
});
