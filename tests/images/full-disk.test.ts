import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { ready } from "../faults/gateway-process.ts";
import { makeHome } from "../faults/home.ts";
import { startFalseRegistry } from "./false-registry.ts";
import { makeImage } from "./image-maker.ts";

const { describe } = await requires("linux-userns", "boxd", "root");

vi.setConfig({ testTimeout: 120_000 });

const CLI = fileURLToPath(new URL("../../apps/cli/bin/sandboxer.cjs", import.meta.url));

describe("an image for which there is no room", () => {
  it("RE-11 is refused in the middle, and leaves no byte behind", async () => {
    const random = Buffer.from(Array.from({ length: 1 << 20 }, (_, at) => (at * 2_654_435_761) >>> 13));
    const members = Array.from({ length: 40 }, (_, at) => ({ name: `part-${at}`, content: random }));
    const registry = await startFalseRegistry(makeImage({ layers: [[{ name: "first" }], members] }));
    onTestFinished(() => registry.close());
    const home = makeHome(onTestFinished);
    // The small disk is mounted for this gateway alone, in a mount namespace that dies with it.
    const script = 'mount -t tmpfs -o size=24m small "$1" && exec "$2" "$3" up --port 0 --json';
    const child = spawn("unshare", ["--mount", "sh", "-c", script, "sh", home, process.execPath, CLI], {
      env: { ...process.env, SANDBOXER_HOME: home, SANDBOXER_IMAGE_REGISTRIES: registry.host },
      stdio: ["ignore", "pipe", "ignore"],
    });
    const gateway = await ready(child);
    const store = `/proc/${gateway.pid}/root${home}/engine/images/oci`;
    const pull = gateway.client.images.pull(`${registry.host}/tools:1`);
    await expect(pull).rejects.toMatchObject({ code: "storage_full" });
    expect(readdirSync(`${store}/drafts`)).toEqual([]);
    expect(await gateway.client.images.list()).toEqual([]);
    expect(readdirSync(`${store}/layers`)).toEqual([]);
    const sandbox = await gateway.client.sandboxes.create({ ttlMs: 60_000 });
    expect((await sandbox.run(["true"])).exit).toEqual({ kind: "exited", code: 0 });
    await sandbox.destroy();
    expect(await gateway.end("SIGTERM")).toBe(0);
  });
});
