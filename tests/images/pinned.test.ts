import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Gateway, openGateway } from "@sandboxer/gateway";
import { createClient, type Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "../conformance/remove-engine.ts";
import { busyboxLayer, layoutArchive, makeImage } from "./image-maker.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000, hookTimeout: 300_000 });

describe("copies of a sandbox whose image's name has moved on", () => {
  let home: string;
  let gateway: Gateway;
  const client = () => createClient({ url: gateway.url ?? "", apiKey: gateway.apiKey });
  const version = async (sandbox: Sandbox) =>
    Buffer.from((await sandbox.run(["cat", "/etc/version", "/srv/own"])).stdout).toString();

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "sandboxer-pinned-"));
    gateway = await openGateway({ home, listen: { host: "127.0.0.1", port: 0 }, log: () => {} });
  });
  afterAll(async () => {
    await gateway.close();
    await removeEngine(join(home, "engine"), home);
  });

  it("lie on the image that it was made of, by its digest", async () => {
    const base = await busyboxLayer();
    const tag = async (content: string) => {
      const made = makeImage({ layers: [base, [{ name: "etc/version", content }]] });
      await client().images.import([layoutArchive(made)], { name: "tools:1" });
      return made.digest;
    };
    const first = await tag("one\n");
    const image = { kind: "oci", ref: "tools:1" } as const;
    const sandbox = await client().sandboxes.create({ image, persistence: "persistent", ttlMs: 600_000 });
    await sandbox.run(["sh", "-c", "mkdir -p /srv; echo own > /srv/own"], { user: "root" });
    const second = await tag("two\n");
    expect(first).not.toBe(second);
    const control = await client().sandboxes.create({ image, ttlMs: 600_000 });
    expect(await version(control)).toBe("two\n");

    const snapshot = await sandbox.snapshot({ name: "mine" });
    expect(snapshot.image).toEqual({ kind: "oci", ref: `tools:1@${first}` });
    expect(await version(await client().sandboxes.create({ from: "mine", ttlMs: 600_000 }))).toBe(
      "one\nown\n",
    );
    // Of those that take its image, the one that restores nothing says so, before anything is made.
    const elsewhere = { from: "mine", extensions: ["docker"] };
    const why = expect.arrayContaining([{ extensionId: "docker", reason: "restores no snapshot" }]);
    expect(await client().explain(elsewhere)).toMatchObject({ candidates: [], rejected: why });
    await expect(client().sandboxes.create(elsewhere)).rejects.toMatchObject({
      code: "no_candidate",
      hint: expect.any(String),
      details: { rejected: why },
    });
    expect((await client().explain({ image })).rejected, "control: its image alone is no reason").not.toEqual(
      expect.arrayContaining([{ extensionId: "docker", reason: expect.stringContaining("image") }]),
    );
    const [running] = await sandbox.fork(1);
    await sandbox.stop();
    const [stopped] = await sandbox.fork(1);
    for (const fork of [running, stopped]) expect(fork && (await version(fork))).toBe("one\nown\n");
    for await (const one of client().sandboxes.all({ states: ["running", "paused"] })) await one.destroy();
  });
});
