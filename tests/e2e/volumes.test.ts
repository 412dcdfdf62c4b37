import { createClient } from "@sandboxer/sdk";
import { expect, it, onTestFinished, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { startGateway } from "../faults/gateway-process.ts";
import { makeHome } from "../faults/home.ts";
import { cliOf } from "./cli-process.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

describe("volumes at the command line", () => {
  it("are made, listed, worked on by sandboxes, and deleted when none works on them", async () => {
    const home = makeHome(onTestFinished);
    const gateway = await startGateway(home);
    const cli = cliOf(home);
    const made = JSON.parse((await cli.run(["volumes", "create", "data", "--json"])).stdout);
    expect(made).toMatchObject({ id: expect.stringMatching(/^vol_/), name: "data" });
    expect((await cli.run(["volumes", "ls"])).stdout).toMatch(/ID +NAME +OWNER +AGE\nvol_\w+ +data /);
    expect((await cli.run(["volumes", "create", "data"])).stderr).toContain("is there");

    const client = createClient({ url: gateway.url, apiKey: gateway.apiKey });
    const volumes = [{ volume: "data", target: "/mnt/data" }];
    const sandbox = await client.sandboxes.create({ volumes, ttlMs: 60_000 });
    await sandbox.run(["sh", "-c", "echo kept > /mnt/data/file"]);
    const refused = await cli.run(["volumes", "rm", "data"]);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain("sandbox");
    await sandbox.destroy();
    const next = await client.sandboxes.create({ volumes, ttlMs: 60_000 });
    const { stdout } = await next.run(["cat", "/mnt/data/file"]);
    expect(new TextDecoder().decode(stdout)).toBe("kept\n");
    await next.destroy();

    expect((await cli.run(["volumes", "rm", "data"])).stdout).toBe("data\n");
    expect(await client.volumes.list()).toEqual([]);
    const gone = await cli.run(["volumes", "rm", "data", "--json"]);
    expect(JSON.parse(gone.stderr || gone.stdout)).toMatchObject({ error: { code: "not_found" } });
    expect(await gateway.end("SIGTERM")).toBe(0);
  });
});
