import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { startFalseRegistry } from "./false-registry.ts";
import { busyboxLayer, makeImage } from "./image-maker.ts";
import { openLab } from "./lab.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

const DRIP = 1024;

describe("an image that takes a while to come", () => {
  it("says how much of it is here, again and again, and never more than there is", async () => {
    const image = makeImage({ layers: [await busyboxLayer()], compression: "none" });
    const registry = await startFalseRegistry(image);
    onTestFinished(() => registry.close());
    const lab = await openLab({ registries: [registry.host] });
    onTestFinished(() => lab.close());
    const said: string[] = [];
    const amounts = () =>
      said.flatMap((line) => /: (\d+\.\d) of (\d+\.\d) MiB$/.exec(line)?.slice(1, 3) ?? []);
    const [layer] = image.layers;
    const bytes = image.blobs.get(layer?.digest ?? "") ?? layer?.tar ?? Buffer.alloc(0);
    const drip = async (response: ServerResponse) => {
      response.writeHead(200, { "content-length": bytes.length });
      let at = bytes.length >> 1;
      response.write(bytes.subarray(0, at));
      // Until it was heard twice: who waits is told more than once.
      for (; amounts().length < 4 && at + DRIP < bytes.length; at += DRIP) {
        response.write(bytes.subarray(at, at + DRIP));
        await sleep(20);
      }
      response.end(bytes.subarray(at));
    };
    registry.meddle = ({ url = "" }, response) => {
      if (!layer || !url.includes("/blobs/") || !url.endsWith(layer.diffId)) return false;
      void drip(response);
      return true;
    };
    await lab.images.pull(`${registry.host}/tools:1`, { progress: (message) => said.push(message) });
    expect(said[0]).toBe(`pulling ${registry.host}/tools:1 from ${registry.host}`);
    const [first = "", total = "", second = ""] = amounts();
    expect(amounts().length).toBeGreaterThanOrEqual(4);
    expect(Number(first)).toBeGreaterThan(0);
    expect(Number(second)).toBeGreaterThanOrEqual(Number(first));
    expect(Number(second)).toBeLessThanOrEqual(Number(total));
  });
});
