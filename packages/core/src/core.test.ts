import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { collect, concatenate, newRowId, type Principal, sandboxSchema } from "@sandboxer/contract";
import { expect, it, onTestFinished } from "vitest";
import { openers } from "../test/gateway.ts";
import { refusal, stillHeld } from "../test/outcomes.ts";
import { createPlainExtension } from "../test/plain-extension.ts";
import { firstBrokenSeq } from "./events/chain.ts";

const { openGateway, temporaryFolder } = openers(onTestFinished);

const encoder = new TextEncoder();
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

it("walks the whole path: create, exec, files, destroy, with every unit and event accounted for", async () => {
  const { core, store, principal, plain } = await openGateway();
  const sandbox = await core.create(principal, {
    name: "dev",
    env: { WHO: "me" },
    consumer: { kind: "agent" },
  });
  expect(sandboxSchema.parse(sandbox)).toEqual(sandbox);
  expect(sandbox).toMatchObject({
    state: "running",
    location: { extensionId: "plain", ref: `box-${sandbox.id}` },
  });
  expect(await stillHeld(store, principal.orgId, sandbox.id)).toBe(3_600_000);

  const process = await core.exec(principal, "dev", { argv: ["sh", "-c", "echo $WHO $0", "secret"] });
  const result = await collect(process);
  expect(text(result.stdout)).toBe("me secret\n");
  expect(result.exit).toEqual({ kind: "exited", code: 0 });
  expect((await core.attachProcess(principal, "dev", process.id)).id).toBe(process.id);
  const files = await core.files(principal, sandbox.id);
  await files.write("note", [encoder.encode("kept")]);
  const parts: Uint8Array[] = [];
  for await (const part of (await files.read("note")).data) parts.push(part);
  expect(text(concatenate(parts))).toBe("kept");
  expect(plain.calls.attach).toBe(0);

  const ended = await core.destroy(principal, "dev");
  expect(ended).toMatchObject({ state: "destroyed", reason: "asked for" });
  expect(ended.costMicroUsd).toBeGreaterThan(0);
  expect(ended.costMicroUsd).toBeLessThan(60_000);
  expect(await stillHeld(store, principal.orgId, sandbox.id)).toBe(0);
  expect(await core.destroy(principal, sandbox.id)).toEqual(ended);

  const events = await store.listEvents(principal.orgId, 0, 100);
  expect(events.map(({ type }) => type)).toEqual([
    "sandbox.requested",
    "sandbox.created",
    "process.started",
    "files.written",
    "files.read",
    "sandbox.destroying",
    "sandbox.destroyed",
  ]);
  expect(firstBrokenSeq(events)).toBeUndefined();
  expect(events[2]?.data).toMatchObject({ program: "sh", attachmentId: expect.stringMatching(/^att_/) });
  expect(JSON.stringify(events)).not.toContain("secret");
});

it("answers what is over with sandbox_gone, and a name that is no more with not_found", async () => {
  const { core, principal } = await openGateway();
  const { id } = await core.create(principal, { name: "dev" });
  await core.destroy(principal, id);
  await refusal(core.exec(principal, id, { argv: ["true"] }), "sandbox_gone");
  await refusal(core.files(principal, id), "sandbox_gone");
  await refusal(core.attachProcess(principal, id, "any"), "sandbox_gone");
  await refusal(core.get(principal, "dev"), "not_found");
  expect(await core.get(principal, id)).toMatchObject({ state: "destroyed" });
});

it("tells the reader of a process that its sandbox was destroyed", async () => {
  const { core, principal } = await openGateway();
  const { id } = await core.create(principal, {});
  const reading = collect(await core.exec(principal, id, { argv: ["sleep", "60"] }));
  await Promise.all([refusal(reading, "sandbox_gone"), core.destroy(principal, id)]);
});

it("refuses a call while the sandbox is still being made", async () => {
  const { core, principal, plain } = await openGateway();
  const { promise: started, resolve: go } = Promise.withResolvers<void>();
  plain.before.create = () => started;
  const creating = core.create(principal, { name: "slow" });
  await expect.poll(() => plain.calls.create).toBe(1);
  await refusal(core.exec(principal, "slow", { argv: ["true"] }), "invalid_state");
  await refusal(core.destroy(principal, "slow"), "invalid_state");
  go();
  expect(await creating).toMatchObject({ state: "running", name: "slow" });
});

it("ends a sandbox once, however many ask, and lets one of two creates have the name", async () => {
  const { core, store, principal, plain } = await openGateway();
  const made = await Promise.allSettled([
    core.create(principal, { name: "dev" }),
    core.create(principal, { name: "dev" }),
  ]);
  expect(made.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  plain.before.destroy = () => setTimeout(20);
  const ends = await Promise.all([1, 2, 3].map(() => core.destroy(principal, "dev")));
  expect(new Set(ends.map(({ endedAtMs }) => endedAtMs)).size).toBe(1);
  expect(plain.calls.destroy).toBe(1);
  const again = await core.create(principal, { name: "dev" });
  expect(await stillHeld(store, principal.orgId, ends[0]!.id)).toBe(0);
  expect(again.id).not.toBe(ends[0]!.id);
});

it("leaves a sandbox that cannot be destroyed to be destroyed again", async () => {
  const { core, store, principal, plain } = await openGateway();
  const { id } = await core.create(principal, {});
  plain.before.destroy = () => Promise.reject(new Error("vendor is down"));
  await refusal(core.destroy(principal, id), "extension_failed");
  expect(await core.get(principal, id)).toMatchObject({ state: "destroying" });
  await refusal(core.exec(principal, id, { argv: ["true"] }), "sandbox_gone");
  delete plain.before.destroy;
  expect(await core.destroy(principal, id)).toMatchObject({ state: "destroyed" });
  expect(await stillHeld(store, principal.orgId, id)).toBe(0);
});

it("shows nobody else's sandbox, and none without the operation", async () => {
  const { core, principal } = await openGateway();
  const { id } = await core.create(principal, {});
  const stranger: Principal = { ...principal, orgId: newRowId("org") };
  const absent = await refusal(core.get(stranger, "a".repeat(20)), "not_found");
  const foreign = await refusal(core.get(stranger, id), "not_found");
  expect(foreign.message.replace(id, "")).toBe(absent.message.replace("a".repeat(20), ""));
  for (const verb of [core.destroy, core.files]) await refusal(verb(stranger, id), "not_found");
  expect((await core.list(stranger)).sandboxes).toEqual([]);

  const reader: Principal = { ...principal, chain: [{}, { operations: ["sandbox.read"] }] };
  expect(await core.get(reader, id)).toMatchObject({ id });
  await refusal(core.exec(reader, id, { argv: ["true"] }), "policy_denied");
  await refusal(core.create(reader, {}), "policy_denied");
  const elsewhere: Principal = { ...principal, chain: [{}, { extensions: ["another"] }] };
  await refusal(core.exec(elsewhere, id, { argv: ["true"] }), "policy_denied");
  const careful: Principal = { ...principal, chain: [{}, { minimumIsolation: "microvm" }] };
  await refusal(core.exec(careful, id, { argv: ["true"] }), "policy_denied");
});

it("gives each principal its own attachment", async () => {
  const { core, store, principal } = await openGateway();
  const { id } = await core.create(principal, { visibility: "org" });
  const colleague = { ...principal, id: newRowId("prn") };
  for (const one of [principal, colleague, principal, colleague]) {
    await collect(await core.exec(one, id, { argv: ["true"] }));
  }
  await core.close();
  const started = (await store.listEvents(principal.orgId, 2, 10)).map(({ data }) => data.attachmentId);
  expect(new Set(started).size).toBe(2);
  expect(started[0]).toBe(started[2]);
});

it("knows a key by its hash and pages through the list", async () => {
  const { core, principal, apiKey } = await openGateway();
  expect(await core.authenticate(apiKey)).toEqual(principal);
  await refusal(core.authenticate(`${apiKey}0`), "unauthenticated");
  const made = [];
  for (let count = 0; count < 3; count++) made.push((await core.create(principal, {})).id);
  const first = await core.list(principal, { limit: 2 });
  const second = await core.list(principal, { limit: 2, after: first.next! });
  expect([...first.sandboxes, ...second.sandboxes].map(({ id }) => id)).toEqual(made.toReversed());
  expect(second).not.toHaveProperty("next");
  await refusal(core.list(principal, { limit: 0 }), "invalid_request");
  await refusal(core.exec(principal, made[0]!, { argv: [] }), "invalid_request");
});

it("explains the route, and says in no_candidate what each extension lacks", async () => {
  const weak = createPlainExtension(join(temporaryFolder(), "weak"), { id: "weak", egress: "none" });
  const { core, principal } = await openGateway([weak]);
  const plan = await core.explain(principal, {});
  expect(plan).toEqual({
    policy: "prefer-self-hosted",
    candidates: [],
    rejected: [{ extensionId: "weak", reason: expect.any(String) }],
  });
  const refused = await refusal(core.create(principal, {}), "no_candidate");
  expect(refused.details).toEqual({ rejected: plan.rejected });
  expect((await core.doctor()).get("weak")).toMatchObject({ status: "offer" });
});
