import { mkdir, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Gateway, openGateway, silent } from "@sandboxer/gateway";
import { type Client, createClient, type Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "../conformance/remove-engine.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

describe("workspaces through the gateway", () => {
  let home: string;
  let project: string;
  let gateway: Gateway;
  let client: Client;
  const clientOf = (apiKey: string) => createClient({ url: gateway.url ?? "", apiKey });
  const names = async (sandbox: Sandbox) => {
    const found: string[] = [];
    for await (const { change, path } of await sandbox.workspace.changes()) found.push(`${change} ${path}`);
    return found;
  };

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "sandboxer-rights-"));
    project = join(home, "project");
    await mkdir(project);
    await writeFile(join(project, "file"), "one\n");
    gateway = await openGateway({
      home: join(home, "home"),
      listen: { host: "127.0.0.1", port: 0 },
      log: silent,
    });
    client = clientOf(gateway.apiKey);
    await sleep(15);
  });
  afterAll(async () => {
    for await (const sandbox of client.sandboxes.all({ states: ["running"] })) await sandbox.destroy();
    await gateway.close();
    await removeEngine(join(home, "home/engine"), home);
  });

  it("tells, applies and rolls back over HTTP, and the log says so", async () => {
    const sandbox = await client.sandboxes.create({ workspace: { source: project } });
    expect(sandbox.info.spec.workspace).toMatchObject({ target: "/workspace", mode: "copy-on-write" });
    await sandbox.run(["sh", "-c", "echo two >> file; echo new > new"]);
    expect(await names(sandbox)).toEqual(["changed file", "added new"]);
    expect(await sandbox.workspace.rollback({ paths: ["new"] })).toEqual({ restored: 1 });
    expect(await sandbox.workspace.apply()).toMatchObject({ applied: 1, paths: ["file"] });
    expect(await readFile(join(project, "file"), "utf8")).toBe("one\ntwo\n");
    const log = (await client.events.list({ limit: 100 })).filter(
      ({ sandboxId }) => sandboxId === sandbox.id,
    );
    const requested = log.find(({ type }) => type === "sandbox.requested");
    expect(requested?.data.workspace).toMatchObject({ source: project, allowSensitive: false });
    const applied = log.find(({ type }) => type === "workspace.applied");
    expect(applied?.data).toMatchObject({ source: project, applied: 1, paths: ["file"], force: false });
    expect(log.some(({ type }) => type === "workspace.rolled-back")).toBe(true);
  });

  it("writes down who went past what is kept from sandboxes, and to which folder", async () => {
    const source = join(home, "home");
    const asked = { source, mode: "read-only" } as const;
    const denied = client.sandboxes.create({ workspace: asked });
    await expect(denied).rejects.toMatchObject({
      code: "policy_denied",
      hint: expect.stringContaining("--allow-sensitive"),
    });
    const { id, info } = await client.sandboxes.create({ workspace: { ...asked, allowSensitive: true } });
    expect(info.spec.workspace).toMatchObject({ source, allowSensitive: true });
    const events = await client.events.list({ limit: 1000 });
    const said = events.filter(({ data }) => Object(data.workspace).allowSensitive === true);
    expect(said).toMatchObject([
      {
        type: "sandbox.requested",
        sandboxId: id,
        principalId: expect.any(String),
        data: { workspace: { source } },
      },
    ]);
    const receipt = await client.sandboxes.get(id).then((sandbox) => sandbox.receipt());
    expect(receipt.why.bestEffort).toContainEqual(expect.stringMatching(/not judged.*allowSensitive/));
    await (await client.sandboxes.get(id)).destroy();
  });

  it("AZ-2 gives no folder to a key without that right, and lets it apply nothing", async () => {
    const { apiKey } = await client.keys.create({ role: "operator" });
    const operator = clientOf(apiKey);
    const mount = operator.sandboxes.create({ workspace: { source: project } });
    await expect(mount).rejects.toMatchObject({
      code: "policy_denied",
      details: { operation: "workspace.mount" },
    });
    const shared = await client.sandboxes.create({ workspace: { source: project }, visibility: "org" });
    const theirs = await operator.sandboxes.get(shared.id);
    expect(await names(theirs)).toEqual([]);
    const apply = theirs.workspace.apply();
    await expect(apply).rejects.toMatchObject({
      code: "policy_denied",
      details: { operation: "workspace.apply" },
    });
  });

  it("is typed where there is no workspace, or no way to give one", async () => {
    const plain = await client.sandboxes.create({});
    await expect(plain.workspace.apply()).rejects.toMatchObject({ code: "invalid_request" });
    await expect(names(plain)).rejects.toMatchObject({ code: "invalid_request" });
    const plan = await client.explain({
      image: { kind: "oci", ref: "debian" },
      workspace: { source: project },
    });
    expect(plan.rejected).toContainEqual({
      extensionId: "docker",
      reason: "gives no copy-on-write workspace",
    });
    for (const source of ["relative", "", "/no/such/folder", join(project, "file")]) {
      const code = await client.sandboxes.create({ workspace: { source } }).catch((error) => error.code);
      expect(["invalid_request", "path_not_found", "not_a_directory"]).toContain(code);
    }
    const sandbox = await client.sandboxes.create({ workspace: { source: project } });
    for (const path of ["../x", "/etc", "a/../b"]) {
      await expect(sandbox.workspace.rollback({ paths: [path] })).rejects.toMatchObject({
        code: "invalid_request",
      });
    }
  });
});
