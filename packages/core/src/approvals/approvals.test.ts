import { expect, it, onTestFinished } from "vitest";
import { openers } from "../../test/gateway.ts";
import { createCore } from "../create-core.ts";

const { openGateway } = openers(onTestFinished);

async function open() {
  const { plain, store, principal: root } = await openGateway();
  let nowMs = Date.now();
  const clock = { nowMs: () => nowMs, monotonicMs: () => performance.now() };
  const core = await createCore({ store, extensions: [plain], clock });
  onTestFinished(() => core.close());
  await core.publishProfile(root, {
    schema: 1,
    name: "careful",
    approvals: ["sandbox.exec", "sandbox.destroy"],
  });
  const { apiKey } = await core.createKey(root, { kind: "agent" });
  const agent = await core.authenticate(apiKey);
  const sandbox = await core.create(agent, { profile: "careful" });
  const refused = async (work: Promise<unknown>) => {
    const error = await work.then(
      () => undefined,
      (thrown: { code: string; details: { approvalId?: string } }) => thrown,
    );
    return { code: error?.code, id: error?.details.approvalId ?? "" };
  };
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { core, root, agent, sandbox, refused, pass };
}

it("an operation that is marked waits for somebody else, for exactly that, once", async () => {
  const { core, root, agent, sandbox, refused } = await open();
  const run = (argv: string[]) => core.exec(agent, sandbox.id, { argv });
  const first = await refused(run(["true"]));
  expect(first.code).toBe("approval_required");
  expect((await refused(run(["true"]))).id, "asked again, the same question").toBe(first.id);
  expect(await core.getApproval(root, first.id)).toMatchObject({
    action: { kind: "operation", operation: "sandbox.exec", said: { argv: ["true"] } },
  });
  const reading = await refused(core.exec(agent, sandbox.id, { argv: ["true"], stdin: true }));
  expect(reading.id, "one that reads what is typed later is another").not.toBe(first.id);
  expect(await core.getApproval(root, reading.id)).toMatchObject({
    action: { said: { argv: ["true"], reads: true } },
  });
  expect((await refused(core.decideApproval(agent, first.id, { decision: "approve" }))).code).toBe(
    "policy_denied",
  );
  await core.decideApproval(root, first.id, { decision: "approve" });
  const other = await refused(run(["true", "more"]));
  expect([other.code, other.id === first.id]).toEqual(["approval_required", false]);
  const process = await run(["true"]);
  for await (const event of process.events)
    if (event.type === "exit") expect(event.exit).toMatchObject({ code: 0 });
  expect((await refused(run(["true"]))).code, "a yes is used up").toBe("approval_required");
  await core.decideApproval(root, other.id, { decision: "deny" });
  expect((await refused(run(["true", "more"]))).code).toBe("approval_required");
  expect((await refused(core.decideApproval(root, other.id, { decision: "approve" }))).code).toBe(
    "invalid_state",
  );
});

it("a yes is not the yes of another, nor for another sandbox", async () => {
  const { core, root, agent, sandbox, refused } = await open();
  const twin = await core.create(agent, { profile: "careful" });
  const { id } = await refused(core.exec(agent, sandbox.id, { argv: ["true"] }));
  await core.decideApproval(root, id, { decision: "approve" });
  expect((await refused(core.exec(agent, twin.id, { argv: ["true"] }))).code).toBe("approval_required");
  expect((await refused(core.exec(root, sandbox.id, { argv: ["true"] }))).code).toBe("approval_required");
  expect((await refused(core.destroy(agent, sandbox.id))).code).toBe("approval_required");
  expect((await refused(core.decideApproval(root, id, { decision: "approve", scope: "sandbox" }))).code).toBe(
    "invalid_state",
  );
});

it("an end brought nearer needs the word that a destroy needs", async () => {
  const { core, root, agent, sandbox, refused, pass } = await open();
  const shorten = () => core.extend(agent, sandbox.id, { ttlMs: 1_000 });
  const asked = await refused(shorten());
  expect(asked.code).toBe("approval_required");
  expect(await core.getApproval(root, asked.id)).toMatchObject({
    action: { operation: "sandbox.destroy", said: { ttlMs: 1_000 } },
  });
  expect((await core.get(agent, sandbox.id)).expiresAtMs).toBe(sandbox.expiresAtMs);
  pass(60_000);
  const later = await core.extend(agent, sandbox.id, { ttlMs: sandbox.spec.ttlMs });
  expect(later.expiresAtMs, "more time needs nobody").toBeGreaterThan(sandbox.expiresAtMs ?? 0);
  await core.decideApproval(root, asked.id, { decision: "approve" });
  expect((await shorten()).expiresAtMs).toBeLessThan(sandbox.expiresAtMs ?? 0);
});

it("a question and an unused yes run out", async () => {
  const { core, root, agent, sandbox, refused, pass } = await open();
  const { id } = await refused(core.destroy(agent, sandbox.id));
  pass(3_600_001);
  expect((await refused(core.decideApproval(root, id, { decision: "approve" }))).code).toBe("invalid_state");
  expect(await core.getApproval(root, id)).toMatchObject({ state: "expired" });
  const next = await refused(core.destroy(agent, sandbox.id));
  await core.decideApproval(root, next.id, { decision: "approve" });
  pass(3_600_001);
  expect((await refused(core.destroy(agent, sandbox.id))).code).toBe("approval_required");
  const types = (await core.listEvents(root, { limit: 1_000 })).map(({ type }) => type);
  expect(types.filter((type) => type === "approval.expired")).toHaveLength(2);
});

it("a request adds to its profile's marks and takes none away; a sibling sees nothing", async () => {
  const { core, root, agent, refused } = await open();
  const both = await core.create(agent, { profile: "careful", approvals: ["sandbox.extend"] });
  expect(both.spec.approvals).toEqual(["sandbox.exec", "sandbox.destroy", "sandbox.extend"]);
  const { id } = await refused(core.extend(agent, both.id, { ttlMs: 5_000 }));
  const { apiKey } = await core.createKey(root, { kind: "user" });
  const sibling = await core.authenticate(apiKey);
  expect(await core.listApprovals(sibling)).toEqual([]);
  expect((await refused(core.decideApproval(sibling, id, { decision: "approve" }))).code).toBe("not_found");
  expect(await core.listApprovals(root, ["pending"])).toMatchObject([{ id }]);
});

it("a recreate asks once about the whole, and ends nothing before there is a yes", async () => {
  const { core, root, agent, refused } = await open();
  const { id, name } = await core.create(agent, {
    name: "again",
    approvals: ["sandbox.destroy"],
  });
  const asked = await refused(core.recreate(agent, id));
  expect(asked.code).toBe("approval_required");
  expect((await core.get(agent, id)).state, "nothing was ended").toBe("running");
  expect(await core.getApproval(root, asked.id)).toMatchObject({
    action: { operation: "sandbox.destroy", said: { verb: "recreate", name } },
  });
  await core.decideApproval(root, asked.id, { decision: "approve" });
  const anew = await core.recreate(agent, id);
  expect(anew).toMatchObject({ name, state: "running" });
  expect((await core.get(agent, id)).state).toBe("destroyed");
  expect((await refused(core.recreate(agent, anew.id))).code, "a yes is used up").toBe("approval_required");
});

it("what a root key asks for is decided by a person's key that it made for that, and by no other", async () => {
  const { core, root, refused } = await open();
  const sandbox = await core.create(root, { profile: "careful" });
  const { id } = await refused(core.destroy(root, sandbox.id));
  const decider = { operations: ["approval.read", "approval.decide"] as const };
  const keyOf = async (by: typeof root, body: object) =>
    core.authenticate((await core.createKey(by, { ...decider, ...body } as never)).apiKey);
  const yes = (who: typeof root) => refused(core.decideApproval(who, id, { decision: "approve" }));
  expect((await yes(root)).code, "itself").toBe("policy_denied");
  for (const kind of ["agent", "service"]) {
    expect((await yes(await keyOf(root, { kind }))).code, kind).toBe("not_found");
  }
  expect(
    (await yes(await keyOf(root, { kind: "user", operations: undefined }))).code,
    "not by that word",
  ).toBe("not_found");
  const manager = await core.authenticate((await core.createKey(root, { kind: "user" })).apiKey);
  expect((await yes(await keyOf(manager, { kind: "user" }))).code, "made by another").toBe("not_found");
  const second = await keyOf(root, { kind: "user" });
  expect(await core.listApprovals(second, ["pending"])).toMatchObject([{ id, isYours: true }]);
  expect((await core.listApprovals(root, ["pending"]))[0]).not.toHaveProperty("isYours");
  expect((await yes(second)).code).toBe(undefined);
  await core.destroy(root, sandbox.id);
  const events = await core.listEvents(root, { limit: 1_000 });
  expect(events.find(({ type }) => type === "approval.approved")).toMatchObject({ principalId: second.id });

  const theirs = await core.create(manager, { profile: "careful" });
  const asked = await refused(core.destroy(manager, theirs.id));
  expect(
    (await refused(core.decideApproval(second, asked.id, { decision: "approve" }))).code,
    "of others",
  ).toBe("not_found");
});
