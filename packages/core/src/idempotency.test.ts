import { join } from "node:path";
import { newRowId, type Principal, SandboxerError } from "@sandboxer/contract";
import { describe, expect, it, onTestFinished } from "vitest";
import { openers } from "../test/gateway.ts";
import { refusal } from "../test/outcomes.ts";
import { createCore } from "./create-core.ts";
import { createRootKey } from "./keys.ts";
import { openSqliteStore } from "./store/sqlite/store.ts";

const { openGateway, openStore, temporaryFolder } = openers(onTestFinished);
const once = { idempotencyKey: "order-66" };

describe("AZ-4 idempotency", () => {
  it("makes one sandbox of 50 requests at once, and gives all the same answer, also after its end", async () => {
    const { core, principal, plain, restart } = await openGateway();
    const answers = await Promise.all(Array.from({ length: 50 }, () => core.create(principal, {}, once)));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(plain.calls.create).toBe(1);
    await core.destroy(principal, answers[0]!.id);
    expect(await core.create(principal, {}, once), "after its end").toEqual(answers[0]);
    expect(await (await restart()).create(principal, {}, once), "after a restart").toEqual(answers[0]);
    expect(plain.calls.create).toBe(1);
    const other = await core.create(principal, {}, { idempotencyKey: "another" });
    expect(other.id).not.toBe(answers[0]!.id);
  });

  it("makes one sandbox of 50 requests at two gateways on one file", async () => {
    const path = join(temporaryFolder(), "store.db");
    const { core, principal, plain } = await openGateway(undefined, openStore(path));
    const second = openSqliteStore(path);
    const other = await createCore({ store: second, extensions: [plain] });
    onTestFinished(async () => {
      await other.close();
      await second.close();
    });
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, at) => (at % 2 ? core : other).create(principal, {}, once)),
    );
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(plain.calls.create).toBe(1);
  });

  it("refuses another request under the same key, at once and later", async () => {
    const { core, principal } = await openGateway();
    const racing = await Promise.allSettled([
      core.create(principal, { ttlMs: 5_000 }, once),
      core.create(principal, { ttlMs: 6_000 }, once),
    ]);
    expect(racing.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    await refusal(core.create(principal, { ttlMs: 6_000 }, once), "idempotency_mismatch");
    await refusal(core.createKey(principal, {}, once), "idempotency_mismatch");
    for (const idempotencyKey of ["", "ü", "a b", "x".repeat(256)]) {
      await refusal(core.create(principal, {}, { idempotencyKey }), "invalid_request");
    }
  });

  it("keeps tenants and principals apart", async () => {
    const { core, store, principal } = await openGateway();
    const stranger = (await createRootKey(store)).principal;
    const colleague: Principal = { ...principal, id: newRowId("prn") };
    const made = [];
    for (const who of [principal, stranger, colleague]) made.push((await core.create(who, {}, once)).id);
    expect(new Set(made).size).toBe(3);
  });

  it("frees the key of a create that failed or was refused", async () => {
    const { core, principal, plain } = await openGateway();
    plain.before.create = () => Promise.reject(new SandboxerError("capacity_exhausted", "full"));
    const racing = await Promise.allSettled([1, 2, 3].map(() => core.create(principal, {}, once)));
    expect(racing.every(({ status }) => status === "rejected")).toBe(true);
    expect(plain.calls.create).toBe(1);
    delete plain.before.create;
    const made = await core.create(principal, {}, once);
    expect(await core.create(principal, {}, once)).toEqual(made);
  });

  it("forgets after 24 hours", async () => {
    const { store, plain, principal } = await openGateway();
    let aheadMs = 0;
    const clock = { nowMs: () => Date.now() + aheadMs, monotonicMs: () => performance.now() };
    const core = await createCore({ store, extensions: [plain], clock });
    onTestFinished(() => core.close());
    const first = await core.create(principal, {}, once);
    aheadMs = 24 * 3_600_000 - 60_000;
    expect(await core.create(principal, {}, once)).toEqual(first);
    aheadMs += 120_000;
    expect((await core.create(principal, { ttlMs: 9_000 }, once)).id).not.toBe(first.id);
  });

  it("repeats a new key to who asked, and keeps it sealed", async () => {
    const path = join(temporaryFolder(), "store.db");
    const { core, principal, restart } = await openGateway(undefined, openStore(path));
    const answers = await Promise.all([1, 2, 3].map(() => core.createKey(principal, { name: "ci" }, once)));
    answers.push(await (await restart()).createKey(principal, { name: "ci" }, once));
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(await core.listKeys(principal)).toHaveLength(2);
    expect(await core.authenticate(answers[0]!.apiKey)).toMatchObject({ keyId: answers[0]!.key.id });
    const { DatabaseSync } = await import("node:sqlite");
    const raw = new DatabaseSync(path, { readOnly: true });
    const rows = JSON.stringify(raw.prepare("SELECT * FROM idempotency").all());
    raw.close();
    expect(rows).not.toContain(answers[0]!.apiKey.slice(4));
    expect(rows).not.toContain(once.idempotencyKey);
  });
});
