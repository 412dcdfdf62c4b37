import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { collect } from "@sandboxer/contract";
import { type Gateway, openGateway, silent } from "@sandboxer/gateway";
import { type Client, createClient, type Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "../conformance/remove-engine.ts";
import { cliOf } from "./cli-process.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

/** The waist as its users meet it: by command line and by SDK, on the real engine, with a price. */
describe("the waist, from outside", () => {
  let home: string;
  let gateway: Gateway;
  let client: Client;
  let cli: (...args: string[]) => Promise<{ code: number | null; stdout: string; stderr: string }>;
  const clientOf = (apiKey: string) => createClient({ url: gateway.url ?? "", apiKey });

  beforeAll(async () => {
    vi.stubEnv("SANDBOXER_PRICE_LOCAL_MICRO_USD_PER_HOUR", "3600000");
    home = await mkdtemp(join(tmpdir(), "sandboxer-waist-"));
    gateway = await openGateway({ home, listen: { host: "127.0.0.1", port: 0 }, log: silent });
    client = clientOf(gateway.apiKey);
    const { run } = cliOf(home);
    cli = (...args) => run(args);
  });
  afterAll(async () => {
    for await (const sandbox of client.sandboxes.all({ states: ["running", "paused"] }))
      await sandbox.destroy();
    await gateway.close();
    vi.unstubAllEnvs();
    await removeEngine(join(home, "engine"), home);
  });

  it("derives a key, holds it to its limits and ends it with what it runs", async () => {
    const made = await cli(
      "keys",
      "create",
      "--name",
      "agent",
      "--role",
      "operator",
      "--max-ttl",
      "30m",
      "--json",
    );
    const { apiKey, key } = JSON.parse(made.stdout);
    const agent = clientOf(apiKey);
    const sandbox = await agent.sandboxes.create();
    expect(sandbox.info.spec.ttlMs, "a default is cut to fit").toBe(30 * 60_000);
    await expect(agent.sandboxes.create({ ttlMs: 3_600_000 })).rejects.toMatchObject({
      code: "policy_denied",
    });
    await expect(agent.keys.create()).rejects.toMatchObject({ code: "policy_denied" });
    expect((await cli("keys", "ls")).stdout).toContain("agent");
    expect(await agent.whoami()).toMatchObject({ keyId: key.id });

    const process = await sandbox.exec({ argv: ["sleep", "60"] });
    const cut = expect(process.events[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: "unauthenticated",
    });
    const owner = await client.sandboxes.get(sandbox.id);
    expect(await sleeping(owner), "it runs").toBe(true);
    const revoked = await cli("keys", "revoke", key.id);
    expect(revoked).toMatchObject({ code: 0, stdout: `${key.id}\n` });
    await cut;
    await expect(agent.sandboxes.get(sandbox.id)).rejects.toMatchObject({ code: "unauthenticated" });
    await expect.poll(() => sleeping(owner)).toBe(false);
    await owner.destroy();
  });

  it("lets a reviewer into a sandbox who reads and runs, and cannot write; both by command line", async () => {
    const label = ["create", "--reuse", "agent:build", "--ttl", "5m"];
    const id = (await cli(...label)).stdout.trim();
    expect((await cli(...label)).stdout.trim(), "the living one of the label").toBe(id);
    const lead = await client.sandboxes.get(id);
    await lead.files.write("plan", [Buffer.from("first\n")]);
    const { apiKey, key } = await client.keys.create({ role: "operator" });
    const made = await cli("attach", id, "--key", key.id, "--read-only", "--conversation", "r1", "--json");
    const { attachment } = JSON.parse(made.stdout);
    const seen = await clientOf(apiKey).sandboxes.get(id);
    const run = async (script: string) => {
      const { stdout, exit } = await seen.run(["sh", "-c", script]);
      return `${Buffer.from(stdout)}${exit.kind === "exited" ? exit.code : exit.kind}`;
    };
    expect(await run("id -u; cat plan")).toBe(`${attachment.uid}\nfirst\n0`);
    for (const script of ["echo x > plan", "echo x > other", "rm -f plan", "chmod 777 .", "kill -9 1"]) {
      expect(await run(`${script} 2>/dev/null`), script).not.toMatch(/^0$/);
    }
    expect(Buffer.from((await lead.run(["cat", "plan"])).stdout).toString()).toBe("first\n");
    expect(await run("echo mine > /tmp/mine; cat /tmp/mine"), "its own /tmp files").toBe("mine\n0");
    await expect(seen.files.write("plan", [])).rejects.toMatchObject({ code: "policy_denied" });
    await expect(seen.destroy()).rejects.toMatchObject({ code: "policy_denied" });
    expect((await cli("attachments", id)).stdout).toContain("r1");
    expect((await cli("detach", attachment.id)).stdout.trim()).toBe(attachment.id);
    await expect(clientOf(apiKey).sandboxes.get(id)).rejects.toMatchObject({ code: "not_found" });
    const own = JSON.parse((await cli("attach", id, "--name", "talk", "--json")).stdout).attachment;
    const as = await cli("exec", id, "--as", own.id, "--", "echo", "through");
    expect(as.stdout).toBe("through\n");
    const reading = await cli("attach", id, "--name", "reader", "--read-only", "--json");
    const { id: reader, uid } = JSON.parse(reading.stdout).attachment;
    for (const over of ["http", "websocket"] as const) {
      const process = await lead.through(reader).exec({ argv: ["id", "-u"] }, { over });
      expect(Buffer.from((await collect(process)).stdout).toString(), over).toBe(`${uid}\n`);
    }
    await lead.destroy();
  });

  it("answers a repeated create once, over HTTP and by command line", async () => {
    const once = { idempotencyKey: "order-1" };
    const made = await Promise.all([1, 2, 3, 4].map(() => client.sandboxes.create({ name: "once" }, once)));
    expect(new Set(made.map(({ id }) => id)).size).toBe(1);
    await expect(client.sandboxes.create({}, once)).rejects.toMatchObject({ code: "idempotency_mismatch" });
    const [one, two] = [
      await cli("create", "--idempotency-key", "k"),
      await cli("create", "--idempotency-key", "k"),
    ];
    expect(one.stdout).toBe(two.stdout);
    for (const id of ["once", one.stdout.trim()]) await (await client.sandboxes.get(id)).destroy();
  });

  it("publishes a profile from YAML, creates by it, verifies it, and gives a receipt", async () => {
    const file = join(home, "tool.yaml");
    await writeFile(
      file,
      'schema: 1\nname: tool\nextends: base\nenv: { TOOL: "7" }\nttlMs: 60000\nmaximumTtlMs: 120000\n',
    );
    expect(await cli("profiles", "publish", file)).toMatchObject({ code: 0, stdout: "tool@1\n" });
    expect((await cli("profiles", "ls")).stdout).toContain("python@1");
    expect((await cli("profiles", "show", "tool")).stdout).toContain("TOOL");
    expect(await cli("profiles", "verify", "tool")).toMatchObject({ code: 0 });
    expect(JSON.parse((await cli("profiles", "schema")).stdout)).toMatchObject({ type: "object" });
    await writeFile(file, "schema: 1\nname: tool\ngpu: 1\n");
    expect((await cli("profiles", "publish", file)).stderr).toContain("reserved");
    expect((await cli("create", "--profile", "tool", "--ttl", "1h")).stderr).toContain(
      "wider than the profile",
    );

    const id = (await cli("create", "--profile", "tool")).stdout.trim();
    const sandbox = await client.sandboxes.get(id);
    expect(new TextDecoder().decode((await sandbox.run(["sh", "-c", "echo $TOOL"])).stdout)).toBe("7\n");
    expect((await cli("extend", id, "90s")).stdout).toContain("ends in");
    await sandbox.destroy();
    const receipt = await cli("receipt", id);
    expect(receipt.stdout).toContain("reached  nothing");
    expect(receipt.stdout).toMatch(/tool@1.*\n.*local on .*\n.*prefer-self-hosted: local/);
    expect((await cli("profiles", "deprecate", "tool@1")).code).toBe(0);
    expect((await cli("create", "--profile", "tool")).code).toBe(66);
  });

  it("audits a run, suggests a profile from it, lists what it would cost, and makes it anew", async () => {
    const made = await cli(
      "create",
      "--name",
      "trial",
      "--audit",
      "--for",
      "agent",
      "--project",
      "p",
      "--json",
    );
    const { id, consumer } = JSON.parse(made.stdout);
    expect(consumer).toEqual({ kind: "agent", project: "p" });
    expect(
      (await cli("exec", "trial", "--", "sh", "-c", "head -c 20000000 /dev/zero | tail -c 1")).code,
    ).toBe(0);
    const reach = await cli("reach", "trial", "--json");
    expect(JSON.parse(reach.stdout)).toMatchObject({ sandboxId: id, state: "running" });
    const again = (await cli("recreate", "trial", "--idempotency-key", "anew")).stdout.trim();
    expect(again).not.toBe(id);
    expect((await client.sandboxes.get("trial")).id).toBe(again);
    const suggested = await cli("profiles", "suggest", id, "--name", "trial-run");
    expect(suggested.stdout).toContain("# network: it had no way out");
    expect(suggested.stdout).toMatch(/memoryMiB: \d+/);
    await writeFile(join(home, "suggested.yaml"), suggested.stdout);
    expect((await cli("profiles", "publish", join(home, "suggested.yaml"))).stdout.trim()).toBe(
      "trial-run@1",
    );
    const fitted = await client.sandboxes.create({ profile: "trial-run" });
    await Promise.all([fitted.destroy(), client.sandboxes.get("trial").then((one) => one.destroy())]);
    const listed = (await cli("profiles", "ls")).stdout
      .split("\n")
      .find((line) => line.startsWith("trial-run@1"));
    expect(listed, "candidate, price an hour, measured start").toMatch(/local.*\$3\.60.*\d+ms/);
    const { offer } = (await client.profiles.list()).find(({ name }) => name === "trial-run") ?? {};
    expect(offer?.candidates).toContainEqual({ extensionId: "local", microUsdPerHour: 3_600_000 });
    expect(offer?.coldStart).toMatchObject({ medianMs: expect.any(Number), samples: 1 });
  });

  it("keeps a volume that outlives the sandboxes that work on it, made once for its key", async () => {
    const make = ["volumes", "create", "cache", "--idempotency-key", "v1"];
    const id = (await cli(...make)).stdout.trim();
    expect(id).toMatch(/^vol_/);
    expect((await cli(...make)).stdout.trim(), "asked again").toBe(id);
    expect((await cli("volumes", "create", "cache")).stderr).toContain("a volume named cache is there");
    const mismatch = await cli("volumes", "create", "other", "--idempotency-key", "v1", "--json");
    expect(JSON.parse(mismatch.stderr).error.code).toBe("idempotency_mismatch");
    const mount = ["--volume", "cache:/home/user/kept"];
    const first = (await cli("create", ...mount)).stdout.trim();
    expect((await cli("exec", first, "--", "sh", "-c", "echo kept > kept/file")).code).toBe(0);
    const busy = await cli("volumes", "rm", "cache");
    expect(busy.stderr).toContain("sandboxes work on it");
    await cli("rm", first);
    const second = (await cli("create", ...mount)).stdout.trim();
    expect((await cli("exec", second, "--", "cat", "kept/file")).stdout).toBe("kept\n");
    await cli("rm", second);
    expect((await cli("volumes", "ls")).stdout).toContain(id);
    expect((await cli("volumes", "rm", "cache")).stdout.trim()).toBe("cache");
    expect(JSON.parse((await cli("volumes", "ls", "--json")).stdout)).toEqual([]);
  });

  it("AZ-11 writes down who reached which port inside, before it happens", async () => {
    const { apiKey, key } = await client.keys.create({ role: "admin" });
    const sandbox = await client.sandboxes.create();
    const { attachment } = await client.attachments.attach({
      mode: "chosen",
      sandbox: sandbox.id,
      keyId: key.id,
    });
    const seen = await clientOf(apiKey).sandboxes.get(sandbox.id);
    const server = await sandbox.exec({ argv: ["python3", "-m", "http.server", "8123"] });
    const dialled = async () => {
      const stream = await seen.ports.dial(8123).catch(() => undefined);
      stream?.close();
      return stream !== undefined;
    };
    await expect.poll(dialled, { timeout: 30_000 }).toBe(true);
    await server.signal("KILL");
    await sandbox.destroy();
    const events = (await client.events.list({ limit: 1_000 })).filter(
      ({ sandboxId, type }) => sandboxId === sandbox.id && type === "port.reached",
    );
    expect(events[0]).toMatchObject({
      principalId: attachment.principalId,
      data: { attachmentId: attachment.id, targets: ["8123"] },
    });
  });

  it("makes a tenant with limits of its own, which sees nothing of ours", async () => {
    const { stdout } = await cli("orgs", "create", "acme", "--max-ttl", "1m", "--budget", "1.00");
    const tenant = clientOf(stdout.trim());
    const sandbox = await tenant.sandboxes.create({ ttlMs: 60_000 });
    await expect(tenant.sandboxes.create({ ttlMs: 61_000 })).rejects.toMatchObject({ code: "policy_denied" });
    await expect(tenant.budget.set(null)).rejects.toMatchObject({ code: "policy_denied" });
    await expect(client.sandboxes.get(sandbox.id)).rejects.toMatchObject({ code: "not_found" });
    await sandbox.destroy();
    expect((await cli("orgs", "ls")).stdout).toContain("acme");
    expect((await cli("budget", "set", "2.00", "--org", "acme")).stdout).toContain("limit $2");
  });

  it("keeps to a budget, explains routes, and can be audited", async () => {
    const { spentMicroUsd } = await client.budget.get();
    await client.budget.set(spentMicroUsd + 70_000);
    const first = await client.sandboxes.create({ ttlMs: 60_000 });
    await expect(client.sandboxes.create({ ttlMs: 60_000 })).rejects.toMatchObject({
      code: "budget_exceeded",
    });
    expect((await cli("create")).code).toBe(77);
    expect((await cli("budget")).stdout).toContain("held");
    await first.destroy();
    expect((await cli("budget", "set", "none")).stdout).toContain("no limit");

    expect((await cli("route", "explain")).stdout).toContain("local");
    const dear = await cli("route", "explain", "--max-price", "1.00", "--extensions", "local");
    expect(dear).toMatchObject({ code: 69, stdout: expect.stringContaining("costs $3.60") });
    const asked = await cli(
      "route",
      "explain",
      "--persistent",
      "-w",
      home,
      "--isolation",
      "microvm",
      "--json",
    );
    expect(JSON.parse(asked.stdout).rejected, "as a create with the same words").toContainEqual(
      expect.objectContaining({ extensionId: "local", reason: expect.stringContaining("microvm") }),
    );

    const audit = await cli("audit", "verify");
    expect(audit).toMatchObject({ code: 0, stdout: expect.stringContaining("unbroken") });
    expect((await cli("events", "--json")).stdout).toContain("profile.published");
    const seen: string[] = [];
    for await (const { type } of client.events.follow({ after: 0 })) if (seen.push(type) === 5) break;
    expect(seen).toHaveLength(5);
    const copy = join(home, "copy.db");
    expect((await cli("backup", copy)).code).toBe(0);
    expect((await cli("backup", copy)).code).toBe(73);
    expect((await cli("backup", "restore", copy)).stderr).toContain("already runs");
    expect((await cli("webhooks", "create", "https://127.0.0.1/")).stderr).toContain("inside a network");
  });
});

async function sleeping(sandbox: Sandbox): Promise<boolean> {
  const look = "for comm in /proc/[0-9]*/comm; do read name < $comm && echo $name; done; true";
  const { stdout } = await sandbox.run(["sh", "-c", look]);
  return new TextDecoder().decode(stdout).split("\n").includes("sleep");
}
