import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { IMAGE_FAIL_POINTS } from "@sandboxer/extensions/local";
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { busyboxLayer, makeImage } from "../images/image-maker.ts";
import { type Registry, startRegistry } from "../images/registry.ts";
import { expectDeathAt, startDoomed, startGateway } from "./gateway-process.ts";
import { expectNothingLeft, makeHome } from "./home.ts";

const { describe, given } = await requires("linux-userns", "boxd", "docker-registry");

vi.setConfig({ testTimeout: 120_000, hookTimeout: 300_000 });

describe("kill -9 of the gateway while an image comes", () => {
  let registry: Registry;
  let ref: string;

  beforeAll(async () => {
    registry = await startRegistry(given["docker-registry"].path);
    ref = `${registry.host}/tools:1`;
    const layers = [await busyboxLayer(), [{ name: "hello", content: "hi" }]];
    await registry.push("tools", "1", makeImage({ layers }));
  });
  afterAll(() => registry?.stop());

  it.each(IMAGE_FAIL_POINTS)(
    "RE-1 at %s leaves all of it or nothing, and the next pull has it",
    async (place) => {
      const home = makeHome(onTestFinished);
      writeFileSync(join(home, "config.yaml"), JSON.stringify({ images: { registries: [registry.host] } }));
      const doomed = await startDoomed(home, place);
      await expectDeathAt(doomed, place, doomed.client.images.pull(ref));

      const { client, end } = await startGateway(home);
      const kept = await client.images.list();
      expect(kept.map(({ names }) => names)).toEqual(place === "image.named" ? [[ref]] : []);
      const store = join(home, "engine/images/oci");
      expect(readdirSync(join(store, "drafts"))).toEqual([]);
      if (kept.length === 0) expect(layersIn(store)).toEqual([]);
      const image = { kind: "oci", ref } as const;
      const sandbox = await client.sandboxes.create({ image, ttlMs: 60_000, extensions: ["local"] });
      expect(new TextDecoder().decode((await sandbox.run(["cat", "/hello"])).stdout)).toBe("hi");
      await sandbox.destroy();
      await client.images.remove(ref);
      expect(layersIn(store)).toEqual([]);
      expect(await end("SIGTERM")).toBe(0);
      await expectNothingLeft(home);
    },
  );
});

function layersIn(store: string): string[] {
  try {
    return readdirSync(join(store, "layers"));
  } catch {
    return [];
  }
}
