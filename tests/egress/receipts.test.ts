import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Client, Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { endProcessesOf } from "../capabilities/processes.ts";
import { requires } from "../capabilities/requires.ts";
import { type GatewayProcess, ready } from "../faults/gateway-process.ts";
import { type Lab, OTHER, openLab, WORLD } from "./lab/lab.ts";
import { curl, text } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

const PROGRAM = fileURLToPath(new URL("lab/gateway-program.ts", import.meta.url));
const PATIENCE = { timeout: 60_000, interval: 100 };

describe("what a sandbox reached, in its receipt", () => {
  let lab: Lab;
  let home: string;
  let gateway: GatewayProcess;
  const start = async () => {
    const guard = JSON.stringify({ prefix: lab.prefix, dns: lab.dns, caFile: join(home, "lab.pem") });
    const argv = ["--disable-warning=ExperimentalWarning", PROGRAM, home, guard];
    gateway = await ready(spawn(process.execPath, argv, { stdio: ["ignore", "pipe", "ignore"] }));
    return gateway.client;
  };
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "sandboxer-receipts-"));
    lab = await openLab();
    await writeFile(join(home, "lab.pem"), (await lab.look()).ca);
    await lab.name("api.allowed.test", [WORLD]);
    await lab.name("more.allowed.test", [WORLD]);
    await lab.name("evil.test", [OTHER]);
  });
  afterAll(async () => {
    await gateway.end("SIGTERM");
    lab.close();
    endProcessesOf(home);
    await rm(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  });

  const trusting = async (client: Client, body: Parameters<Client["sandboxes"]["create"]>[0]) => {
    const sandbox = await client.sandboxes.create(body);
    await sandbox.files.write("/home/user/lab.pem", [new TextEncoder().encode((await lab.look()).ca)]);
    return sandbox;
  };
  const reach = (sandbox: Sandbox, host: string) =>
    expect
      .poll(async () => text((await curl(sandbox, `https://${host}/`)).stdout), PATIENCE)
      .toBe(`hello from ${host}\n`);
  const logged = async (client: Client, type: string) => {
    const events = await client.events.list({ limit: 1_000 });
    return JSON.stringify(events.filter((event) => event.type === type).map(({ data }) => data));
  };
  const verdictsOf = async (sandbox: Sandbox) => {
    const { places } = (await sandbox.receipt()).reached;
    return places.map(({ host, port, verdict }) => `${host}:${port} ${verdict}`);
  };

  it("RE-1 survives a gateway that is killed before any stop or end, and goes on with the next", async () => {
    let client = await start();
    const rules = [{ host: "api.allowed.test" }, { host: "more.allowed.test" }];
    const made = await trusting(client, { network: { egress: "guarded", rules } });
    expect((await made.receipt()).reached, "before anything was tried").toEqual({ places: [], others: 0 });
    await reach(made, "api.allowed.test");
    expect((await curl(made, "https://evil.test/")).exit).not.toEqual({ kind: "exited", code: 0 });
    await expect.poll(() => logged(client, "network.reached"), PATIENCE).toContain("evil.test");
    await gateway.end("SIGKILL");

    client = await start();
    const sandbox = await client.sandboxes.get(made.id);
    const first = ["api.allowed.test:443 allowed", "evil.test:443 denied"];
    expect(await verdictsOf(sandbox)).toEqual(first);
    await reach(sandbox, "more.allowed.test");
    await expect.poll(() => verdictsOf(sandbox), PATIENCE).toContain("more.allowed.test:443 allowed");
    await sandbox.destroy();
    expect(await verdictsOf(sandbox), "over").toEqual([...first, "more.allowed.test:443 allowed"]);
  });

  it("RE-1 a profile is suggested from an audited run whose gateway was killed", async () => {
    const { client } = gateway;
    const network = { egress: "guarded", mode: "audit" } as const;
    const made = await trusting(client, { audit: true, network });
    await reach(made, "api.allowed.test");
    await expect.poll(() => logged(client, "network.reached"), PATIENCE).toContain("audited");
    await expect.poll(() => logged(client, "sandbox.audited"), PATIENCE).toContain("curl");
    await gateway.end("SIGKILL");

    const next = await start();
    const { profile, usage } = await next.profiles.suggest(made.id);
    expect(profile.network).toMatchObject({ mode: "enforce", rules: [{ host: "api.allowed.test" }] });
    expect(usage.programs.curl).toBeGreaterThanOrEqual(1);
    expect(usage.samples).toBeGreaterThan(0);
    await (await next.sandboxes.get(made.id)).destroy();
  });
});
