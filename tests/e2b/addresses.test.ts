import { Sandbox } from "e2b";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { OTHER, WORLD } from "../egress/lab/lab.ts";
import { type Bench, openBench } from "../egress/lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

vi.setConfig({ testTimeout: 120_000 });

const BY_PROXY = "--proxytunnel --proxy http://198.18.0.1:3128";

describe("E2B's own client, with addresses in its lists", () => {
  let bench: Bench;
  let options: { apiKey: string; apiUrl: string; sandboxUrl: string; timeoutMs: number };

  beforeAll(async () => {
    bench = await openBench({}, { listen: { host: "127.0.0.1", port: 0 } });
    await bench.lab.name("other.test", [OTHER]);
    const { apiKey, url = "" } = bench.gateway;
    options = { apiKey, apiUrl: url, sandboxUrl: url, timeoutMs: 120_000 };
  }, 300_000);
  afterAll(() => bench?.close());
  beforeEach(() => bench.lab.clear());

  const curl = async (sandbox: Sandbox, line: string) =>
    (await sandbox.commands.run(`curl -sk --max-time 60 ${line} || echo failed`)).stdout;
  /** Which addresses of the world were asked anything. */
  const asked = async () => {
    const { records } = await bench.lab.look();
    return records.filter(({ kind }) => kind === "request").length;
  };

  it("EG-1 opens the address that is allowed, through the proxy, and no other", async () => {
    const network = { allowOut: [`${WORLD}/32`], denyOut: ["0.0.0.0/0"] };
    const sandbox = await Sandbox.create("base", { ...options, network });
    try {
      expect(await curl(sandbox, `${BY_PROXY} http://${WORLD}/x`)).toContain("hello");
      expect(await curl(sandbox, `${BY_PROXY} https://${WORLD}/x`)).toContain("hello");
      expect((await sandbox.getInfo()).network).toMatchObject({ allowOut: [WORLD] });
      await bench.lab.clear();
      for (const place of [`http://${OTHER}/`, "http://other.test/", `http://${WORLD}:8080/`]) {
        expect(await curl(sandbox, `${BY_PROXY} ${place}`), place).toContain("failed");
      }
      expect(await curl(sandbox, "https://other.test/")).toContain("failed");
      expect(await asked()).toBe(0);
    } finally {
      await sandbox.kill();
    }
  });

  it("opens everything where that is what is allowed, and closes it again", async () => {
    const sandbox = await Sandbox.create("base", { ...options, network: { allowOut: ["0.0.0.0/0"] } });
    try {
      expect(await curl(sandbox, "http://other.test/")).toContain("hello");
      expect(await curl(sandbox, `${BY_PROXY} http://${WORLD}/`)).toContain("hello");
      await sandbox.updateNetwork({ denyOut: ["0.0.0.0/0"] });
      await bench.lab.clear();
      expect(await curl(sandbox, "http://other.test/")).not.toContain("hello");
      expect(await asked()).toBe(0);
      await expect(sandbox.updateNetwork({ allowOut: ["0.0.0.0/0"], denyOut: ["8.8.8.8"] })).rejects.toThrow(
        "400",
      );
    } finally {
      await sandbox.kill();
    }
  });
});
