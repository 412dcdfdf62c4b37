import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Gateway, openGateway, silent } from "@sandboxer/gateway";
import { type Client, createClient, type Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "../conformance/remove-engine.ts";
import { cliOf } from "./cli-process.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

describe("points of a workspace", () => {
  let home: string;
  let project: string;
  let gateway: Gateway;
  let client: Client;
  const open = async () => {
    const listen = { host: "127.0.0.1", port: 0 };
    gateway = await openGateway({ home: join(home, "home"), listen, log: silent });
    client = createClient({ url: gateway.url ?? "", apiKey: gateway.apiKey });
  };
  const sh = async (sandbox: Sandbox, script: string) =>
    new TextDecoder().decode((await sandbox.run(["sh", "-c", script])).stdout);
  const made = (more: object = {}) =>
    client.sandboxes.create({ workspace: { source: project, ...more }, ttlMs: 600_000 });
  const numbers = async (sandbox: Sandbox) =>
    (await sandbox.workspace.points()).points.map(({ point }) => point);

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "sandboxer-points-"));
    project = join(home, "project");
    await mkdir(project);
    await writeFile(join(project, "file"), "host\n");
    await sleep(15);
    await open();
  }, 60_000);
  afterAll(async () => {
    for await (const sandbox of client.sandboxes.all({ states: ["running"] })) await sandbox.destroy();
    await gateway.close();
    await removeEngine(join(home, "home/engine"), home);
  }, 60_000);

  it("go to before any run, over HTTP, and the log says so", async () => {
    const sandbox = await made();
    await sh(sandbox, "echo 1 > file; echo 1 > one");
    await sh(sandbox, "echo 2 > file; rm one");
    await sandbox.files.write("/workspace/sent", new TextEncoder().encode("sent\n"));
    await sh(sandbox, "echo 3 > file; rm sent");
    const { points, bytes } = await sandbox.workspace.points();
    expect(points).toMatchObject([
      { point: 1, argv: ["sh", "-c", "echo 1 > file; echo 1 > one"], changed: 2, bytes: 0 },
      { point: 2, argv: ["sh", "-c", "echo 2 > file; rm one"], bytes: 4 },
      { point: 3, argv: ["sh", "-c", "echo 3 > file; rm sent"], changed: 2 },
    ]);
    expect(bytes).toBe(4 + 2 + 5);
    await sandbox.workspace.rollback({ to: "last" });
    // What was sent before the run is there again.
    expect(await sh(sandbox, "cat file sent; ls")).toBe("2\nsent\nfile\nsent\n");
    expect(await numbers(sandbox)).toEqual([1, 2, 4]);
    await sandbox.workspace.rollback({ to: 2 });
    expect(await sh(sandbox, "cat file one; ls")).toBe("1\n1\nfile\none\n");
    await sandbox.workspace.rollback({ to: 1 });
    expect(await sh(sandbox, "cat file; ls")).toBe("host\nfile\n");
    await expect(sandbox.workspace.rollback({ to: 99 })).rejects.toMatchObject({
      code: "not_found",
      message: "there is no point 99",
      hint: expect.stringContaining(`rollback ${sandbox.id} --list`),
    });
    const log = await client.events.list({ limit: 1_000 });
    const back = log.filter(
      ({ type, sandboxId }) => type === "workspace.rolled-back" && sandboxId === sandbox.id,
    );
    expect(back.map(({ data }) => data.to)).toEqual(["last", 2, 1]);
    await sandbox.destroy();
  });

  it("outlive a restart of the gateway, and are no part of copies", async () => {
    const first = await made();
    await sh(first, "echo 1 > file");
    await sh(first, "echo 2 > file");
    await gateway.close();
    await open();
    const sandbox = await client.sandboxes.get(first.id);
    expect(await numbers(sandbox)).toEqual([1, 2]);
    const [copy] = await sandbox.fork(1);
    expect(await numbers(copy as Sandbox)).toEqual([]);
    await sandbox.workspace.rollback({ to: 2 });
    expect(await sh(sandbox, "cat file")).toBe("1\n");
    expect(await sh(copy as Sandbox, "cat file")).toBe("2\n");
    for (const one of [sandbox, copy as Sandbox]) await one.destroy();
  });

  it("refuse by name: an unknown point, a run still going, a state, a workspace without", async () => {
    const sandbox = await made();
    const refused = (to: number | "last") => sandbox.workspace.rollback({ to });
    await expect(refused("last")).rejects.toMatchObject({ code: "not_found" });
    await sh(sandbox, "echo 1 > file");
    await expect(refused(7)).rejects.toMatchObject({ code: "not_found" });
    await expect(refused(0)).rejects.toMatchObject({ code: "invalid_request" });
    const going = await sandbox.exec({ argv: ["sleep", "600"] });
    await expect(refused(1)).rejects.toMatchObject({
      code: "invalid_state",
      message: expect.stringContaining("still going"),
    });
    await going.signal("KILL");
    for await (const _ of going.events);
    await sandbox.pause();
    await expect(refused(1)).rejects.toMatchObject({ code: "invalid_state" });
    await expect(sandbox.workspace.points()).rejects.toMatchObject({ code: "invalid_state" });
    await sandbox.resume();
    await refused(1);
    expect(await sh(sandbox, "cat file")).toBe("host\n");
    await sandbox.destroy();
    await expect(refused(1)).rejects.toMatchObject({ code: "sandbox_gone" });
    for (const mode of ["read-only", "read-write", "remote"] as const) {
      const other = await made({ mode });
      await sh(other, "true");
      await expect(other.workspace.points(), mode).rejects.toMatchObject({ code: "invalid_request" });
      await other.destroy();
    }
    const bare = await client.sandboxes.create({ ttlMs: 60_000 });
    await expect(bare.workspace.points()).rejects.toMatchObject({ code: "invalid_request" });
    await bare.destroy();
  });

  it("are as many as asked for, and none where none is", async () => {
    const few = await made({ points: 2 });
    for (const number of [1, 2, 3, 4]) await sh(few, `echo ${number} > file`);
    expect(await numbers(few)).toEqual([3, 4]);
    const report = await client.store.list();
    expect(report.stored.find(({ id }) => id === few.id)?.note).toMatch(/^running, 2 points of 0\.0 MiB$/);
    await few.destroy();
    const none = await made({ points: 0 });
    await sh(none, "echo 1 > file");
    expect(await none.workspace.points()).toEqual({ points: [], bytes: 0 });
    await none.workspace.rollback();
    expect(await sh(none, "cat file")).toBe("host\n");
    await none.destroy();
  });

  it("show nobody the arguments of another's commands", async () => {
    const sandbox = await made();
    await sh(sandbox, "echo secret-word > file");
    const { key, apiKey } = await client.keys.create({ role: "operator" });
    const body = { mode: "chosen", sandbox: sandbox.id, keyId: key.id, access: "read-only" } as const;
    await client.attachments.attach(body);
    const guest = createClient({ url: gateway.url ?? "", apiKey });
    const through = await guest.sandboxes.get(sandbox.id);
    await sh(through, "echo own-word");
    const told = await through.workspace.points();
    expect(told.points.map(({ argv }) => argv)).toEqual([[], ["sh", "-c", "echo own-word"]]);
    expect((await sandbox.workspace.points()).points[0]?.argv).toContain("echo secret-word > file");
    await sandbox.destroy();
  });

  it("are listed and gone back to by the command line", async () => {
    const cli = cliOf(join(home, "home"));
    const said = async (...args: string[]) => {
      const { code, stdout, stderr } = await cli.run(args);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      return stdout;
    };
    await said("run", "--name", "work", "-w", project, "--", "sh", "-c", "echo 1 > file");
    await said("exec", "work", "--", "sh", "-c", "echo 2 > file");
    await said("exec", "work", "--", "sh", "-c", "echo 3 > file");
    expect(await said("rollback", "work", "--list")).toMatch(
      /^POINT +BEFORE +AGE +CHANGED +COPIED\n1 +sh -c echo 1 > file +\d+\w +1 +0\.0 MiB\n2 .*\n3 +sh -c echo 3 > file +\d+\w +1 +0\.0 MiB\n$/,
    );
    const listed = JSON.parse(await said("rollback", "work", "--list", "--json"));
    expect(listed.points).toHaveLength(3);
    expect(await said("rollback", "work", "--last")).toMatch(/^took back \d+ changes?$/m);
    expect(await said("exec", "work", "--", "cat", "file")).toBe("2\n");
    expect(JSON.parse(await said("rollback", "work", "--to", "2", "--json"))).toEqual({ restored: 1 });
    expect(await said("exec", "work", "--", "cat", "file")).toBe("1\n");
    const wrong = await cli.run(["rollback", "work", "--to", "9", "--json"]);
    expect([wrong.code, JSON.parse(wrong.stderr).error.code]).toEqual([66, "not_found"]);
    for (const args of [
      ["--to", "0"],
      ["--to", "x"],
      ["--to", "1", "--last"],
    ]) {
      expect((await cli.run(["rollback", "work", ...args])).code, args.join(" ")).toBe(2);
    }
    expect(await said("rollback", "work")).toMatch(/^took back \d+ changes?$/m);
    expect(await said("rollback", "work")).toContain("nothing to take back");
    expect(await said("diff", "work")).toBe("");
    await said("rm", "work");
  }, 180_000);
});
