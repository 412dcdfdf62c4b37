import type { Client, Sandbox } from "@sandboxer/sdk";
import { expect, it, onTestFinished, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { startGateway } from "../faults/gateway-process.ts";
import { expectNothingLeft, makeHome } from "../faults/home.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

const sh = async (sandbox: Sandbox, script: string) =>
  new TextDecoder().decode((await sandbox.run(["sh", "-c", script])).stdout);

const expectOver = async (
  client: Client,
  end: (signal: NodeJS.Signals) => Promise<unknown>,
  home: string,
) => {
  for await (const one of client.sandboxes.all({ states: ["running", "paused"] })) await one.destroy();
  for (const { id } of await client.snapshots.list()) await client.snapshots.delete(id);
  expect(await end("SIGTERM")).toBe(0);
  await expectNothingLeft(home);
};

describe("what becomes of a sandbox's rules and of its past", () => {
  it("SN-3 rules, time and budget hold after a stop, a start and a fork, the newest first", async () => {
    const home = makeHome(onTestFinished);
    const { client, end } = await startGateway(home);
    const allow = (host: string) => ({ egress: "guarded" as const, rules: [{ host }] });
    const sandbox = await client.sandboxes.create({
      persistence: "persistent",
      ttlMs: 90_000,
      budgetMicroUsd: 5_000_000,
      network: allow("old.test"),
    });
    await sandbox.stop();
    const rules = ({ info }: Sandbox) =>
      info.spec.network.egress === "guarded" && info.spec.network.rules.map(({ host }) => host);
    await sandbox.changeNetwork(allow("new.test"));
    await sandbox.start();
    expect(rules(sandbox), "tightened while it was stopped").toEqual(["new.test"]);
    const dial = (host: string) =>
      `python3 -c "import socket; socket.create_connection(('${host}', 443), 5).recv(1)" 2>&1 | tail -1`;
    await sh(sandbox, dial("old.test"));
    await expect
      .poll(async () => (await sandbox.networkCalls()).calls.map(({ host, verdict }) => [host, verdict]))
      .toContainEqual(["old.test", "denied"]);
    await sandbox.stop();
    const [copy] = (await sandbox.fork(1)) as [Sandbox];
    expect(rules(copy)).toEqual(["new.test"]);
    expect(copy.info).toMatchObject({
      budgetMicroUsd: 5_000_000,
      spec: { ttlMs: 90_000, forkOf: sandbox.id },
    });
    expect((copy.info.expiresAtMs ?? 0) - Date.now()).toBeLessThanOrEqual(90_000);
    await sh(copy, dial("old.test"));
    await expect
      .poll(async () => (await copy.networkCalls()).calls.map(({ host, verdict }) => [host, verdict]))
      .toContainEqual(["old.test", "denied"]);
    await expectOver(client, end, home);
  });

  it("SN-6 forks, restores and exports at once, and a deletion among them, are whole or refused", async () => {
    const home = makeHome(onTestFinished);
    const { client, end } = await startGateway(home);
    const source = await client.sandboxes.create({});
    await sh(source, "head -c 8000000 /dev/urandom > ~/large");
    const sum = (one: Sandbox) => sh(one, "sha256sum ~/large | cut -c1-64");
    const right = await sum(source);
    const { id, digest } = await source.snapshot();
    const exported = async () => {
      const parts: Uint8Array[] = [];
      for await (const part of await client.snapshots.export(id)) parts.push(part);
      return parts;
    };
    const restore = () => client.sandboxes.create({ from: id });
    const atOnce = await Promise.all([exported(), restore(), restore(), source.fork(2)]);
    const [archive, one, two, forks] = atOnce;
    for (const copy of [one, two, ...forks]) {
      expect(await sum(copy)).toBe(right);
      await copy.destroy();
    }
    const brought = await client.snapshots.import(archive);
    expect(brought.digest).toBe(digest);
    // Now somebody takes it away under those who read it.
    const racing = await Promise.allSettled([exported(), restore(), client.snapshots.delete(id), restore()]);
    const [read, first, deleted, second] = racing;
    expect(deleted.status).toBe("fulfilled");
    if (read.status === "fulfilled") {
      expect((await client.snapshots.import(read.value)).digest, "all of it, or an error").toBe(digest);
    }
    for (const made of [first, second]) {
      if (made.status === "fulfilled") expect(await sum(made.value)).toBe(right);
      else expect(made.reason).toMatchObject({ code: "not_found" });
    }
    await expect(restore()).rejects.toMatchObject({ code: "not_found" });
    expect(await sum(await client.sandboxes.create({ from: brought.id })), "the other is its own").toBe(
      right,
    );
    for (const snapshot of await client.snapshots.list()) await client.snapshots.delete(snapshot.id);
    await expectOver(client, end, home);
  });

  it("SN-6 rapid forks of forks hold what each was made of", async () => {
    const home = makeHome(onTestFinished);
    const { client, end } = await startGateway(home);
    const a = await client.sandboxes.create({ persistence: "persistent" });
    await sh(a, "echo a > ~/log");
    await a.stop();
    const [[b], [c]] = (await Promise.all([a.fork(1), a.fork(1)])) as [[Sandbox], [Sandbox]];
    await Promise.all([sh(b, "echo b >> ~/log"), sh(c, "echo c >> ~/log")]);
    await b.stop();
    const [copies, snapshot] = await Promise.all([b.fork(1), c.snapshot()]);
    const [d] = copies as [Sandbox];
    await sh(d, "echo d >> ~/log");
    const e = await client.sandboxes.create({ from: snapshot.id });
    await a.destroy();
    await b.start();
    expect(await Promise.all([b, c, d, e].map((one) => sh(one, "cat ~/log")))).toEqual([
      "a\nb\n",
      "a\nc\n",
      "a\nb\nd\n",
      "a\nc\n",
    ]);
    expect([d.info.spec.forkOf, c.info.spec.forkOf, e.info.spec.from]).toEqual([b.id, a.id, snapshot.id]);
    await expectOver(client, end, home);
  });

  it("SN-5 keeps so many snapshots without a name, and none that is needed or named goes", async () => {
    const home = makeHome(onTestFinished);
    const { client, end } = await startGateway(home);
    const sandbox = await client.sandboxes.create({ retain: { count: 2, ageMs: 3_600_000 } });
    const named = await sandbox.snapshot({ name: "named" });
    const needed = await sandbox.snapshot();
    expect(needed.expiresAtMs).toBe(needed.createdAtMs + 3_600_000);
    expect(named.expiresAtMs).toBeUndefined();
    await client.sandboxes.create({ from: needed.id });
    const passing: string[] = [];
    for (let count = 0; count < 3; count += 1) passing.push((await sandbox.snapshot()).id);
    const left = (await client.snapshots.list()).map(({ id }) => id);
    expect(left.sort()).toEqual([named.id, needed.id, ...passing.slice(1)].sort());
    await expectOver(client, end, home);
  });

  it("SN-5 removes snapshots without a name when they are as old as their sandbox allows, and no others", async () => {
    const home = makeHome(onTestFinished);
    const first = await startGateway(home);
    const aged = await first.client.sandboxes.create({ retain: { ageMs: 10_000 } });
    const unaged = await first.client.sandboxes.create({});
    const [named, needed, passing, other] = [
      await aged.snapshot({ name: "named" }),
      await aged.snapshot(),
      await aged.snapshot(),
      await unaged.snapshot(),
    ];
    await first.client.sandboxes.create({ from: needed.id });
    const ids = async (client: Client) => (await client.snapshots.list()).map(({ id }) => id).sort();
    // Looked at again and again; a start is one of those times.
    await first.end("SIGTERM");
    await expect.poll(() => Date.now()).toBeGreaterThan(passing.createdAtMs + 10_000);
    const { client, end } = await startGateway(home);
    await expect.poll(() => ids(client), { timeout: 30_000 }).toEqual([named.id, needed.id, other.id].sort());
    await expectOver(client, end, home);
  });
});
