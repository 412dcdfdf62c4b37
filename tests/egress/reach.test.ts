import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { OTHER, WORLD } from "./lab/lab.ts";
import { type Bench, curl, openBench, text } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

describe("a way out by name", () => {
  let bench: Bench;
  let sandbox: Sandbox;
  beforeAll(async () => {
    bench = await openBench();
    await bench.lab.name("api.allowed.test", [WORLD]);
    await bench.lab.name("evil.test", [OTHER]);
    sandbox = await bench.sandbox({ rules: [{ host: "api.allowed.test" }] });
  });
  afterAll(() => bench.close());

  it("curl reaches an allowed host without any setting of its own", async () => {
    const { exit, stdout, stderr } = await curl(sandbox, "https://api.allowed.test/x");
    expect({ exit, stderr: text(stderr) }).toEqual({ exit: { kind: "exited", code: 0 }, stderr: "" });
    expect(text(stdout)).toBe("hello from api.allowed.test\n");
  });

  it("EG-1 nothing else is reached, and nothing of the try arrives", async () => {
    await bench.lab.clear();
    const { stdout } = await curl(sandbox, "--insecure", "https://evil.test/");
    expect(text(stdout)).toContain("no rule allows evil.test:443");
    const { records } = await bench.lab.look();
    expect(records).toEqual([]);
    const last = async () => (await sandbox.networkCalls()).calls.at(-1);
    await expect.poll(last).toMatchObject({ host: "evil.test", port: 443, verdict: "denied" });
    const { proposed } = await sandbox.networkCalls();
    expect(proposed).toMatchObject([{ host: "evil.test", protocol: "https" }]);
  });
});
