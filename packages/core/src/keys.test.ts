import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { type CreateKeyBody, collect, newApiKey, SandboxerError } from "@sandboxer/contract";
import { expect, it, onTestFinished } from "vitest";
import { openers, type TestGateway } from "../test/gateway.ts";
import { refusal, until } from "../test/outcomes.ts";
import { enrolRootKey } from "./keys.ts";

const { openGateway, openStore } = openers(onTestFinished);

async function childOf({ core, principal }: TestGateway, body: CreateKeyBody = {}, parent = principal) {
  const { apiKey, key } = await core.createKey(parent, body);
  return { apiKey, key, principal: await core.authenticate(apiKey) };
}

it("shows a key once, keeps its hash, and lets it do what it may", async () => {
  const gateway = await openGateway();
  const { core, store, principal } = gateway;
  const { apiKey, key, principal: child } = await childOf(gateway, { name: "reader", role: "viewer" });
  expect(apiKey).toMatch(/^[a-z0-9]+_[0-9a-f]{64}$/);
  expect(key).toMatchObject({ name: "reader", role: "viewer", parentId: principal.keyId });
  expect(child).toMatchObject({ keyId: key.id, lineage: [principal.id, key.principal.id] });
  await refusal(core.create(child, {}), "policy_denied");
  expect((await core.listKeys(principal)).map(({ id }) => id)).toEqual([principal.keyId, key.id]);
  expect(await core.listKeys(child)).toEqual([key]);
  const kept = JSON.stringify([
    await store.listEvents(principal.orgId, 0, 10),
    await core.listKeys(principal),
  ]);
  expect(kept).not.toContain(apiKey.slice(4));
  expect(await core.whoami(child)).toMatchObject({ keyId: key.id, rights: key.rights });
});

it("AZ-2 revokes the whole subtree at once, and nothing beside it", async () => {
  const gateway = await openGateway();
  const { core, principal, store } = gateway;
  const child = await childOf(gateway);
  const grandchild = await childOf(gateway, {}, child.principal);
  const sibling = await childOf(gateway);
  await refusal(core.revokeKey(sibling.principal, child.key.id), "not_found");
  await refusal(core.revokeKey(child.principal, principal.keyId), "not_found");
  await refusal(core.revokeKey(principal, principal.keyId), "policy_denied");
  expect(await core.revokeKey(principal, child.key.id)).toEqual([child.key.id, grandchild.key.id]);
  for (const { apiKey } of [child, grandchild]) await refusal(core.authenticate(apiKey), "unauthenticated");
  expect(await core.authenticate(sibling.apiKey)).toEqual(sibling.principal);
  expect(await core.revokeKey(principal, child.key.id), "again").toEqual([]);
  // A principal that was authenticated just before cannot slip a key past the revocation.
  await refusal(core.createKey(grandchild.principal, {}), "unauthenticated");
  const types = (await store.listEvents(principal.orgId, 0, 10)).map(({ type }) => type);
  expect(types).toEqual(["key.created", "key.created", "key.created", "key.revoked"]);
});

it("ends live processes and streams of a revoked key, also when another gateway revoked it", async () => {
  const gateway = await openGateway();
  const { core, principal, restart } = gateway;
  const { id } = await core.create(principal, { visibility: "org" });
  const [near, far] = [await childOf(gateway), await childOf(gateway)];
  const other = await restart();
  for (const [revoker, { key, principal: child }] of [
    [core, near],
    [other, far],
  ] as const) {
    const script = "trap '' TERM; echo $$ > pid; while :; do sleep 0.05; done";
    const process = await core.exec(child, id, { argv: ["sh", "-c", script] });
    const reading = collect(process);
    const ours = await core.exec(principal, id, { argv: ["sleep", "30"] });
    const reader = await core.attachProcess(child, id, ours.id);
    const files = await core.files(child, id);
    const stuck = files.write("never", endless());
    const written = join(gateway.plain.root, `box-${id}`, "pid");
    await until(async () => existsSync(written) && readFileSync(written, "utf8").endsWith("\n"));
    await revoker.revokeKey(principal, key.id);
    await Promise.all([
      refusal(reading, "unauthenticated"),
      refusal(collect(reader), "unauthenticated"),
      refusal(stuck, "unauthenticated"),
    ]);
    const pid = readFileSync(join(gateway.plain.root, `box-${id}`, "pid"), "utf8").trim();
    await until(async () => !existsSync(`/proc/${pid}`));
    rmSync(join(gateway.plain.root, `box-${id}`, "pid"));
    await ours.signal("TERM");
  }
  await core.destroy(principal, id);

  async function* endless() {
    for (;;) {
      await setTimeout(10);
      yield new Uint8Array(1);
    }
  }
});

it("ends a key and what it does when its time is up", async () => {
  const gateway = await openGateway();
  const { core, principal } = gateway;
  const { id } = await core.create(principal, { visibility: "org" });
  const brief = await childOf(gateway, { expiresAtMs: Date.now() + 4_000 });
  const process = await core.exec(brief.principal, id, { argv: ["sleep", "30"] });
  await refusal(collect(process), "unauthenticated");
  const late = await refusal(core.authenticate(brief.apiKey), "unauthenticated");
  expect(late.message).toContain("time is up");
  const forged = { ...brief.principal, expiresAtMs: Date.now() + 60_000 };
  await refusal(core.createKey(forged, {}), "unauthenticated");
  await core.destroy(principal, id);
});

it("shows a sandbox to its principal, that one's ancestors, and whom its visibility names", async () => {
  const gateway = await openGateway();
  const { core, principal } = gateway;
  const red = await childOf(gateway, { team: "red" });
  const maker = await childOf(gateway, {}, red.principal);
  const teammate = await childOf(gateway, { team: "red" });
  const stranger = await childOf(gateway, { team: "blue" });
  const seen = async (id: string) => {
    const out: boolean[] = [];
    for (const who of [principal, red.principal, maker.principal, teammate.principal, stranger.principal]) {
      const got = await core.get(who, id).catch((error) => SandboxerError.from(error).code);
      const listed = (await core.list(who)).sandboxes.some((one) => one.id === id);
      expect(got === "not_found").toBe(!listed);
      out.push(listed);
    }
    return out;
  };
  const make = async (visibility?: "private" | "team" | "org") =>
    (await core.create(maker.principal, { ...(visibility && { visibility }) })).id;
  expect(await seen(await make())).toEqual([true, true, true, false, false]);
  expect(await seen(await make("team"))).toEqual([true, true, true, true, false]);
  const open = await make("org");
  expect(await seen(open)).toEqual([true, true, true, true, true]);
  const hidden = await make();
  for (const verb of [core.destroy, core.files]) await refusal(verb(stranger.principal, hidden), "not_found");
  await refusal(core.exec(stranger.principal, hidden, { argv: ["true"] }), "not_found");
  for (const { id } of (await core.list(principal)).sandboxes) await core.destroy(principal, id);
});

it("lets each principal have a name of its own, and asks for the id where two are meant", async () => {
  const gateway = await openGateway();
  const { core, principal } = gateway;
  const [one, two] = [await childOf(gateway), await childOf(gateway)];
  const first = await core.create(one.principal, { name: "dev" });
  const second = await core.create(two.principal, { name: "dev" });
  expect((await core.get(one.principal, "dev")).id).toBe(first.id);
  expect((await core.get(two.principal, "dev")).id).toBe(second.id);
  await refusal(core.get(principal, "dev"), "conflict");
  const own = await core.create(principal, { name: "dev" });
  expect((await core.get(principal, "dev")).id).toBe(own.id);
  await refusal(core.create(one.principal, { name: "dev" }), "conflict");
});

it("keeps one root key: a new one retires the former, and its children stay", async () => {
  const store = openStore();
  const [first, second] = [newApiKey(), newApiKey()];
  const gateway = await openGateway(undefined, store);
  const { core } = gateway;
  await enrolRootKey(store, first);
  await enrolRootKey(store, first);
  const root = await core.authenticate(first);
  const child = await childOf(gateway, {}, root);
  await enrolRootKey(store, second);
  expect(await core.authenticate(second)).toEqual(root);
  await refusal(core.authenticate(first), "unauthenticated");
  expect(await core.authenticate(child.apiKey)).toEqual(child.principal);
  await enrolRootKey(store, child.apiKey);
  expect(await core.authenticate(child.apiKey), "a child's key stays a child's").toEqual(child.principal);
  expect(await core.authenticate(second)).toEqual(root);
  await enrolRootKey(store, first);
  expect(await core.authenticate(first)).toEqual(root);
});

it("finds a key by its name or the beginning of its id, of its own only, and never one of several", async () => {
  const { core, principal } = await openGateway();
  const make = async (name: string, by = principal) => (await core.createKey(by, { name })).key.id;
  const manager = await core.authenticate((await core.createKey(principal, { name: "manager" })).apiKey);
  const [ci, , twin] = [await make("ci"), await make("twin"), await make("twin")];
  await refusal(core.revokeKey(manager, "ci"), "not_found");
  await refusal(core.revokeKey(manager, ci.slice(0, 12)), "not_found");
  await refusal(core.revokeKey(principal, "nosuch"), "not_found");
  await refusal(core.revokeKey(principal, "key_"), "not_found");
  const error = await refusal(core.revokeKey(principal, "twin"), "conflict");
  expect(error.details.keys).toHaveLength(2);
  expect(await core.revokeKey(principal, twin)).toEqual([twin]);
  expect(await core.revokeKey(principal, "twin"), "the other is now the only one").toHaveLength(1);
  expect(await core.revokeKey(principal, "ci")).toEqual([ci]);
  const again = await make("ci");
  expect(await core.revokeKey(principal, again.slice(0, 12))).toEqual([again]);
});
