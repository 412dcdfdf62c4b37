import { type AttachBody, type CreateKeyBody, collect } from "@sandboxer/contract";
import { describe, expect, it, onTestFinished } from "vitest";
import { openers } from "../../test/gateway.ts";
import { refusal, until } from "../../test/outcomes.ts";
import { createPlainExtension } from "../../test/plain-extension.ts";

const { openGateway, openStore, temporaryFolder } = openers(onTestFinished);
const ECHO = { argv: ["echo", "hi"] };

async function open(facets: ("users" | "pause")[] = ["users", "pause"]) {
  const plain = createPlainExtension(temporaryFolder(), { facets });
  const gateway = await openGateway([plain], openStore());
  const { core, principal } = gateway;
  const agentOf = async (body: CreateKeyBody = {}) => {
    const { apiKey, key } = await core.createKey(principal, { role: "operator", ...body });
    return { agent: await core.authenticate(apiKey), keyId: key.id };
  };
  const sandbox = await core.create(principal, { ttlMs: 60_000 });
  return { ...gateway, plain, agentOf, sandbox };
}

describe("an attachment", () => {
  it("lets a reviewer in who can read and run, and neither write, reach ports, nor decide", async () => {
    const { core, principal, agentOf, sandbox, plain } = await open();
    const { agent, keyId } = await agentOf();
    await core.files(principal, sandbox.id).then((files) => files.write("a", [Buffer.from("text")]));
    await refusal(core.exec(agent, sandbox.id, ECHO), "not_found");

    const { attachment } = await core.attach(principal, {
      mode: "chosen",
      sandbox: sandbox.id,
      keyId,
      access: "read-only",
      conversation: "review-1",
    });
    expect(attachment).toMatchObject({ principalId: agent.id, byPrincipalId: principal.id, implicit: false });
    expect((await core.list(agent)).sandboxes.map(({ id }) => id)).toEqual([sandbox.id]);
    await collect(await core.exec(agent, sandbox.id, ECHO));
    expect(plain.executed.at(-1)).toEqual({ user: `guest${attachment.uid}`, attachmentId: attachment.id });

    const files = await core.files(agent, sandbox.id);
    expect((await files.read("a")).size).toBe(4);
    for (const work of [
      files.write("a", []),
      files.mkdir("d"),
      files.move("a", "b"),
      files.remove("a"),
      files.chmod("a", 0o777),
      files.symlink("b", "a"),
      files.setXattr("a", "user.x", new Uint8Array()),
      files.removeXattr("a", "user.x"),
      files.unpack("d", []),
      core.dial(agent, sandbox.id, 80),
      core.exec(agent, sandbox.id, { ...ECHO, user: "root" }),
      core.pause(agent, sandbox.id),
      core.resume(agent, sandbox.id),
      core.extend(agent, sandbox.id, { ttlMs: 10_000 }),
      core.destroy(agent, sandbox.id),
    ]) {
      await refusal(work, "policy_denied");
    }
  });

  it("cannot be got around: by another attachment, by none, by leaving, or by a child", async () => {
    const { core, principal, agentOf } = await open();
    const { agent, keyId } = await agentOf({ role: "admin" });
    const { id } = await core.create(principal, { visibility: "org" });
    await core.exec(agent, id, ECHO);
    const chosen = { mode: "chosen", sandbox: id } as const;
    const { attachment } = await core.attach(principal, { ...chosen, keyId, access: "read-only" });
    const wider = await refusal(core.attach(agent, { ...chosen, access: "read-write" }), "policy_denied");
    expect(wider.details).toMatchObject({ rule: "access" });
    const child = await core.createKey(agent, {});
    const lent = await core.attach(agent, { ...chosen, keyId: child.key.id });
    expect(lent.attachment.access, "as much as the giver has").toBe("read-only");
    const before = (await core.listAttachments(principal, id)).find(
      ({ implicit, principalId }) => implicit && principalId === agent.id,
    );
    await refusal(core.exec({ ...agent, attachmentId: before?.id ?? "" }, id, ECHO), "not_found");
    await core.detach(agent, attachment.id);
    await refusal(core.exec(agent, id, ECHO), "policy_denied");
    await refusal(core.exec({ ...agent, attachmentId: attachment.id }, id, ECHO), "policy_denied");
    await refusal(core.attach(agent, chosen), "policy_denied");
    expect((await collect(await core.exec(principal, id, ECHO))).exit, "control").toMatchObject({ code: 0 });
  });

  it("is never wider than its principal in access, rules and secrets, and says which", async () => {
    const { core, principal, agentOf, sandbox } = await open();
    const { agent, keyId } = await agentOf({
      access: "read-only",
      network: ["*.example.com:443"],
      secrets: ["GITHUB"],
    });
    const body = { mode: "chosen", sandbox: sandbox.id, keyId } as const;
    const wider: [string, Partial<AttachBody>][] = [
      ["access", { access: "read-write" }],
      ["network", { rules: ["example.com:443"] }],
      ["network", { rules: ["*.example.com"] }],
      ["network", { rules: ["**.example.com:443"] }],
      ["secrets", { secrets: ["GITHUB", "AWS"] }],
    ];
    for (const [rule, more] of wider) {
      const error = await refusal(
        core.attach(principal, { ...body, ...more } as AttachBody),
        "policy_denied",
      );
      expect(error.details, JSON.stringify(more)).toMatchObject({ rule });
    }
    const { attachment } = await core.attach(principal, { ...body, rules: ["api.example.com:443"] });
    expect(attachment).toMatchObject({
      access: "read-only",
      rules: ["api.example.com:443"],
      secrets: ["GITHUB"],
    });
    const own = await core.create(agent, {});
    await refusal(
      core.files(agent, own.id).then((files) => files.write("a", [])),
      "policy_denied",
    );
  });

  it("can be a user of its own that writes, sees its own processes, and lets nobody in as another", async () => {
    const { core, principal, agentOf, sandbox, plain } = await open();
    const { agent, keyId } = await agentOf({ role: "admin" });
    const chosen = { mode: "chosen", sandbox: sandbox.id } as const;
    const { attachment } = await core.attach(principal, { ...chosen, keyId, user: "own" });
    expect(attachment).toMatchObject({ access: "read-write", uid: expect.any(Number) });
    const own = await core.exec(agent, sandbox.id, ECHO);
    expect(plain.executed.at(-1)).toEqual({ user: `agent${attachment.uid}`, attachmentId: attachment.id });
    await (await core.files(agent, sandbox.id)).write("a", [Buffer.from("x")]);
    await refusal(core.exec(agent, sandbox.id, { ...ECHO, user: "root" }), "policy_denied");
    const theirs = await core.exec(principal, sandbox.id, { argv: ["sleep", "20"] });
    await refusal(core.attachProcess(agent, sandbox.id, theirs.id), "not_found");
    expect((await core.ps(agent, sandbox.id)).map(({ id }) => id)).toEqual([own.id]);

    const child = await core.createKey(agent, {});
    const asOther = core.attach(agent, { ...chosen, keyId: child.key.id, user: "ordinary" });
    expect((await refusal(asOther, "policy_denied")).details).toMatchObject({ rule: "user" });
    const lent = await core.attach(agent, { ...chosen, keyId: child.key.id });
    expect(lent.attachment.uid, "as the giver").toBeGreaterThan(attachment.uid ?? 0);
    expect((await core.attach(principal, chosen)).attachment, "control").not.toHaveProperty("uid");
    await theirs.signal("KILL");
  });

  it("is refused where the extension cannot tell users apart, never silently wider", async () => {
    const { core, principal, agentOf, sandbox, plain } = await open([]);
    const { agent, keyId } = await agentOf();
    await core.attach(principal, { mode: "chosen", sandbox: sandbox.id, keyId, access: "read-only" });
    const error = await refusal(core.exec(agent, sandbox.id, ECHO), "unsupported");
    expect(error.details).toEqual({ facet: "users" });
    await refusal(core.files(agent, sandbox.id), "unsupported");
    expect(plain.executed).toEqual([]);
  });

  it("keeps a read-only one to its own processes", async () => {
    const { core, principal, agentOf, sandbox } = await open();
    const { agent, keyId } = await agentOf();
    await core.attach(principal, { mode: "chosen", sandbox: sandbox.id, keyId, access: "read-only" });
    const theirs = await core.exec(principal, sandbox.id, { argv: ["sleep", "20"] });
    const own = await core.exec(agent, sandbox.id, { argv: ["sleep", "20"] });
    await refusal(core.attachProcess(agent, sandbox.id, theirs.id), "not_found");
    expect((await core.ps(agent, sandbox.id)).map(({ id }) => id)).toEqual([own.id]);
    expect((await core.ps(principal, sandbox.id)).length).toBe(2);
    await (await core.attachProcess(agent, sandbox.id, own.id)).signal("KILL");
    await core.destroy(principal, sandbox.id);
  });

  it("has a name and an idempotency key, and one of each name", async () => {
    const { core, principal, sandbox } = await open();
    const body = { mode: "chosen", sandbox: sandbox.id, name: "talk" } as const;
    const once = { idempotencyKey: "one" };
    const first = await core.attach(principal, body, once);
    expect((await core.attach(principal, body, once)).attachment).toEqual(first.attachment);
    await refusal(core.attach(principal, { ...body, conversation: "2" }, once), "idempotency_mismatch");
    await refusal(core.attach(principal, body), "conflict");
    await refusal(core.attach(principal, { ...body, sandbox: "nobodys" }), "not_found");
    await refusal(core.attach(principal, { ...body, keyId: `key_${"a".repeat(20)}` }), "not_found");
    const fresh = { mode: "fresh", create: { ttlMs: 60_000 } } as const;
    const all = await Promise.all(
      Array.from({ length: 10 }, () => core.attach(principal, fresh, { idempotencyKey: "two" })),
    );
    expect(new Set(all.map(({ sandbox: { id } }) => id)).size).toBe(1);
    await core.destroy(principal, first.sandbox.id);
    await refusal(core.attach(principal, { mode: "chosen", sandbox: first.sandbox.id }), "sandbox_gone");
  });
});

describe("when the last one leaves", () => {
  it("the sandbox sleeps, and wakes when somebody comes", async () => {
    const { core, principal, sandbox, plain, store } = await open();
    const chosen = { mode: "chosen", sandbox: sandbox.id } as const;
    const [one, two] = [await core.attach(principal, chosen), await core.attach(principal, chosen)];
    await core.detach(principal, one.attachment.id);
    expect(plain.paused.size, "somebody is still there").toBe(0);
    await core.detach(principal, two.attachment.id);
    await core.detach(principal, two.attachment.id);
    expect((await core.get(principal, sandbox.id)).state).toBe("paused");
    expect((await core.attach(principal, chosen)).sandbox.state).toBe("running");
    expect(plain.paused.size).toBe(0);
    const types = (await store.listEvents(principal.orgId, 0, 100)).map(({ type }) => type);
    expect(types.filter((type) => type === "sandbox.detached")).toHaveLength(2);
  });

  it("but not again what its owner woke, whatever happens elsewhere", async () => {
    const { core, principal, sandbox, plain, restart } = await open();
    const chosen = { mode: "chosen", sandbox: sandbox.id } as const;
    await core.detach(principal, (await core.attach(principal, chosen)).attachment.id);
    await core.resume(principal, sandbox.id);
    const other = await core.create(principal, { ttlMs: 60_000 });
    const elsewhere = await core.attach(principal, { mode: "chosen", sandbox: other.id });
    await core.detach(principal, elsewhere.attachment.id);
    await (await restart()).start();
    expect([...plain.paused]).toEqual([`box-${other.id}`]);
  });

  it("and whoever comes at that moment finds it awake", async () => {
    const { core, principal, sandbox, plain } = await open();
    const chosen = { mode: "chosen", sandbox: sandbox.id } as const;
    for (let time = 0; time < 30; time++) {
      const { attachment } = await core.attach(principal, chosen);
      const [, next] = await Promise.all([
        core.detach(principal, attachment.id),
        core.attach(principal, chosen),
      ]);
      expect(plain.paused.size, "somebody is there").toBe(0);
      expect((await core.get(principal, sandbox.id)).state).toBe("running");
      await core.detach(principal, next.attachment.id);
    }
  });

  it("also when its key ended, and when a crash came in between", async () => {
    const { core, principal, sandbox, plain, agentOf, store, restart } = await open();
    const { keyId } = await agentOf();
    await core.attach(principal, { mode: "chosen", sandbox: sandbox.id, keyId });
    await core.revokeKey(principal, keyId);
    expect(plain.paused.size).toBe(1);
    const { attachment } = await core.attach(principal, { mode: "chosen", sandbox: sandbox.id });
    await store.detach({ attachmentId: attachment.id, atMs: Date.now(), principalId: principal.id });
    expect(plain.paused.size).toBe(0);
    await (await restart()).start();
    expect(plain.paused.size).toBe(1);
  });

  it("a fresh one ends after its retention, at once with none, and gets its time back meanwhile", async () => {
    const { core, principal } = await open();
    const fresh = { mode: "fresh", create: { ttlMs: 60_000 } } as const;
    const gone = await core.attach(principal, { ...fresh, retentionMs: 0 });
    await core.detach(principal, gone.attachment.id);
    expect(await core.get(principal, gone.sandbox.id)).toMatchObject({
      state: "destroyed",
      reason: "its last attachment left",
    });
    const kept = await core.attach(principal, { ...fresh, retentionMs: 5_000, hibernate: false });
    const { id, expiresAtMs = 0 } = kept.sandbox;
    await core.detach(principal, kept.attachment.id);
    expect((await core.get(principal, id)).expiresAtMs).toBeLessThan(expiresAtMs - 30_000);
    const back = await core.attach(principal, { mode: "chosen", sandbox: id });
    expect(back.sandbox).toMatchObject({ state: "running", expiresAtMs });
    await core.detach(principal, back.attachment.id);
    await until(async () => (await core.get(principal, id)).state === "expired");
  });

  it("but stays awake where that was asked, and is shared by label", async () => {
    const { core, principal, plain } = await open();
    const shared = {
      mode: "shared",
      create: { reuse: { scope: "agent", key: "x" } },
      hibernate: false,
    } as const;
    const [one, two] = [await core.attach(principal, shared), await core.attach(principal, shared)];
    expect(one.sandbox.id).toBe(two.sandbox.id);
    for (const { attachment } of [one, two]) await core.detach(principal, attachment.id);
    expect(plain.paused.size).toBe(0);
    await refusal(core.attach(principal, { mode: "shared" }), "invalid_request");
    await refusal(core.attach(principal, { ...shared, mode: "fresh" }), "invalid_request");
  });
});
