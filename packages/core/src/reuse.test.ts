import type { CreateBody } from "@sandboxer/contract";
import { describe, expect, it, onTestFinished } from "vitest";
import { openers } from "../test/gateway.ts";
import { refusal } from "../test/outcomes.ts";
import { createPlainExtension } from "../test/plain-extension.ts";

const { openGateway, openStore, temporaryFolder } = openers(onTestFinished);
const SESSION: CreateBody = { reuse: { scope: "session", key: "42" }, ttlMs: 60_000 };

async function withChild(gateway: Awaited<ReturnType<typeof openGateway>>, body = {}) {
  const { apiKey } = await gateway.core.createKey(gateway.principal, body);
  return gateway.core.authenticate(apiKey);
}

describe("labelled reuse", () => {
  it("20 creates at once, at two gateways, give one sandbox and log who got it again", async () => {
    const gateway = await openGateway();
    const { core, principal, plain, store } = gateway;
    const other = await gateway.restart();
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, at) => (at % 2 ? core : other).create(principal, SESSION)),
    );
    expect(new Set(all.map(({ id }) => id)).size).toBe(1);
    expect(plain.calls.create).toBe(1);
    expect(all[0]).toMatchObject({ state: "running", reuse: SESSION.reuse });
    const types = (await store.listEvents(principal.orgId, 0, 100)).map(({ type }) => type);
    expect(types.filter((type) => type === "sandbox.created")).toHaveLength(1);
    expect(types.filter((type) => type === "sandbox.reused")).toHaveLength(19);
  });

  it("gives another for another key, scope, image or profile version, and after the first is over", async () => {
    const { core, principal } = await openGateway();
    const profile = { schema: 1, name: "mine", ttlMs: 60_000 };
    await core.publishProfile(principal, { ...profile, env: { A: "1" } });
    const bodies: CreateBody[] = [
      SESSION,
      { ...SESSION, reuse: { scope: "session", key: "43" } },
      { ...SESSION, reuse: { scope: "agent", key: "42" } },
      { ...SESSION, env: { A: "1" } },
      { ...SESSION, profile: "mine" },
    ];
    const ids = [];
    for (const body of bodies) ids.push((await core.create(principal, body)).id);
    expect(new Set(ids).size).toBe(bodies.length);
    for (const [at, body] of bodies.entries()) expect((await core.create(principal, body)).id).toBe(ids[at]);

    await core.publishProfile(principal, { ...profile, env: { A: "2" } });
    const changed = await core.create(principal, { ...SESSION, profile: "mine" });
    expect(ids, "a changed profile").not.toContain(changed.id);
    expect((await core.create(principal, { ...SESSION, profile: "mine@1" })).id).toBe(ids[4]);
    await core.destroy(principal, ids[0] ?? "");
    expect(ids, "the first is over").not.toContain((await core.create(principal, SESSION)).id);
  });

  it("refuses another request within the same profile, and keeps the first asker's life", async () => {
    const { core, principal } = await openGateway();
    const body: CreateBody = { profile: "base", reuse: { scope: "agent", key: "a" } };
    const first = await core.create(principal, body);
    await refusal(core.create(principal, { ...body, env: { A: "1" } }), "conflict");
    const again = await core.create(principal, { ...body, ttlMs: 10_000, labels: { later: "yes" } });
    expect(again).toEqual(first);
  });

  it("never crosses owners: another principal, org or team gets its own", async () => {
    const gateway = await openGateway();
    const { core, principal, store, plain } = gateway;
    const stranger = await openGateway([plain], store);
    const people = [
      principal,
      await withChild(gateway),
      await withChild(gateway),
      await withChild(gateway, { team: "red" }),
      stranger.principal,
    ];
    const own = await Promise.all(people.map((one) => core.create(one, SESSION)));
    expect(new Set(own.map(({ id }) => id)).size).toBe(people.length);
    for (const [at, one] of people.entries()) expect(own[at]?.principalId).toBe(one.id);
  });

  it("is shared by those who see it: a team, or the org", async () => {
    const gateway = await openGateway();
    const { core, principal } = gateway;
    const shared: CreateBody = { reuse: { scope: "shared", key: "ci" } };
    const [one, two, red, reds, blue] = [
      await withChild(gateway),
      await withChild(gateway),
      await withChild(gateway, { team: "red" }),
      await withChild(gateway, { team: "red" }),
      await withChild(gateway, { team: "blue" }),
    ];
    const ofOrg = await core.create(one, shared);
    expect(ofOrg.visibility).toBe("org");
    expect((await core.create(two, shared)).id).toBe(ofOrg.id);
    expect((await core.create(principal, shared)).id).toBe(ofOrg.id);
    const ofRed = await core.create(red, shared);
    expect(ofRed).toMatchObject({ visibility: "team", team: "red" });
    expect((await core.create(reds, shared)).id).toBe(ofRed.id);
    expect([ofOrg.id, ofRed.id]).not.toContain((await core.create(blue, shared)).id);
    await refusal(core.create(one, { ...shared, visibility: "private" }), "invalid_request");
    await refusal(core.create(one, { ...shared, visibility: "team" }), "invalid_request");
  });

  it("asks before somebody else joins where attaching is marked, and not who is in it", async () => {
    const gateway = await openGateway();
    const { core, principal } = gateway;
    const shared: CreateBody = { reuse: { scope: "shared", key: "ci" } };
    const marked: CreateBody = { ...shared, approvals: ["sandbox.attach"] };
    const [one, two] = [await withChild(gateway), await withChild(gateway)];
    const { id } = await core.create(one, marked);
    expect((await core.create(one, marked)).id, "it is its own").toBe(id);
    const { details } = await refusal(core.create(two, marked), "approval_required");
    const events = await gateway.store.listEvents(principal.orgId, 0, 100);
    expect(events.filter(({ type }) => type === "sandbox.reused")).toHaveLength(1);
    await core.decideApproval(principal, String(details.approvalId), { decision: "approve" });
    expect((await core.create(two, marked)).id).toBe(id);
    const open = await core.create(one, shared);
    expect((await core.create(two, shared)).id, "control: nobody marked it").toBe(open.id);
  });

  it("holds a narrower key to its rights, also with what is there", async () => {
    const gateway = await openGateway();
    const shared: CreateBody = { reuse: { scope: "shared", key: "ci" }, extensions: ["plain"] };
    const { id } = await gateway.core.create(gateway.principal, shared);
    const narrow = await withChild(gateway, { extensions: ["elsewhere"] });
    await refusal(gateway.core.create(narrow, shared), "policy_denied");
    const strict = await withChild(gateway, { minimumIsolation: "microvm" });
    const error = await refusal(gateway.core.create(strict, shared), "no_candidate");
    expect(JSON.stringify(error.details)).not.toContain(id);
  });

  it("AZ-4 repeats its answer under an idempotency key, also after its end", async () => {
    const { core, principal, plain } = await openGateway();
    const { id } = await core.create(principal, SESSION);
    const again = await core.create(principal, SESSION, { idempotencyKey: "once" });
    expect(again.id).toBe(id);
    await core.destroy(principal, id);
    expect((await core.create(principal, SESSION, { idempotencyKey: "once" })).id).toBe(id);
    expect(plain.calls.create).toBe(1);
  });

  it("wakes what is paused, and makes it anew when the first to ask fails", async () => {
    const plain = createPlainExtension(temporaryFolder(), { facets: ["pause"] });
    const { core, principal } = await openGateway([plain], openStore());
    let fails = 1;
    plain.before.create = async () => {
      if (fails-- > 0) throw new Error("out of order");
    };
    const outcomes = await Promise.allSettled(
      Array.from({ length: 5 }, () => core.create(principal, SESSION)),
    );
    const ids = outcomes.flatMap((one) => (one.status === "fulfilled" ? one.value.id : []));
    expect(ids).toHaveLength(4);
    expect(new Set(ids).size).toBe(1);
    await core.pause(principal, ids[0] ?? "");
    expect(await core.create(principal, SESSION)).toMatchObject({ id: ids[0], state: "running" });
    expect(plain.paused.size).toBe(0);
  });
});
