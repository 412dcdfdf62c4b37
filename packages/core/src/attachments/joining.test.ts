import { generateKeyPairSync } from "node:crypto";
import { join } from "node:path";
import { type CreateBody, collect } from "@sandboxer/contract";
import { expect, it, onTestFinished } from "vitest";
import { openers } from "../../test/gateway.ts";
import { refusal } from "../../test/outcomes.ts";
import { createPlainExtension } from "../../test/plain-extension.ts";
import { createCore } from "../create-core.ts";

const { openGateway, openStore, temporaryFolder } = openers(onTestFinished);
const ECHO = { argv: ["echo", "hi"] };
const MARKED: CreateBody = { visibility: "org", approvals: ["sandbox.attach"] };

async function open() {
  const plain = createPlainExtension(temporaryFolder(), { facets: ["ports", "snapshots"] });
  const store = openStore();
  const { principal } = await openGateway([plain], store);
  const snapshots = { dir: join(temporaryFolder(), "snapshots"), ...generateKeyPairSync("ed25519") };
  const core = await createCore({ store, extensions: [plain], snapshots });
  onTestFinished(() => core.close());
  const comer = async () => core.authenticate((await core.createKey(principal, { role: "admin" })).apiKey);
  const owner = await comer();
  return { core, principal, owner, comer, plain };
}

it("somebody else who only uses a sandbox is asked about as if it attached, once, and its maker is not", async () => {
  const { core, principal, owner, comer, plain } = await open();
  const { id } = await core.create(owner, MARKED);
  const other = await comer();
  const asked = new Set<unknown>();
  for (const use of [
    () => core.exec(other, id, ECHO),
    () => core.files(other, id),
    () => core.dial(other, id, 80),
    () => core.ps(other, id),
    () => core.attachProcess(other, id, "p1"),
    () => core.listPoints(other, id),
    () => core.diff(other, id),
    () => core.rollback(other, id),
    () => core.apply(other, id),
    () => core.sync(other, id),
    () => core.takeSnapshot(other, id, {}),
    () => core.fork(other, id),
  ]) {
    asked.add((await refusal(use(), "approval_required")).details.approvalId);
  }
  expect(asked.size, "one question, however it comes").toBe(1);
  expect(plain.executed).toEqual([]);
  expect((await core.listAttachments(owner, id)).map(({ principalId }) => principalId)).toEqual([owner.id]);

  const approvalId = String([...asked][0]);
  await core.decideApproval(principal, approvalId, { decision: "approve" });
  await core.files(other, id);
  expect((await collect(await core.exec(other, id, ECHO))).exit, "it is in").toMatchObject({ code: 0 });
  expect((await collect(await core.exec(owner, id, ECHO))).exit).toMatchObject({ code: 0 });

  const unmarked = await core.create(owner, { visibility: "org" });
  await core.files(await comer(), unmarked.id);
  const third = await comer();
  await refusal(core.exec(third, id, ECHO), "approval_required");
});

it("a no keeps it out, and where commands are marked too, each is one question of its own", async () => {
  const { core, principal, owner, comer } = await open();
  const { id } = await core.create(owner, { ...MARKED, approvals: ["sandbox.attach", "sandbox.exec"] });
  const other = await comer();
  const first = await refusal(core.exec(other, id, ECHO), "approval_required");
  await core.decideApproval(principal, String(first.details.approvalId), { decision: "deny" });
  const again = await refusal(core.exec(other, id, ECHO), "approval_required");
  expect(again.details.approvalId).not.toBe(first.details.approvalId);
  await core.decideApproval(principal, String(again.details.approvalId), { decision: "approve" });
  const command = await refusal(core.exec(other, id, ECHO), "approval_required");
  expect(await core.getApproval(principal, String(command.details.approvalId))).toMatchObject({
    action: { operation: "sandbox.exec" },
  });
  await core.decideApproval(principal, String(command.details.approvalId), { decision: "approve" });
  expect((await collect(await core.exec(other, id, ECHO))).exit).toMatchObject({ code: 0 });
});

it("whoever joined by its label is not asked about again when it uses it", async () => {
  const { core, principal, owner, comer } = await open();
  const shared: CreateBody = { ...MARKED, reuse: { scope: "shared", key: "ci" } };
  const { id } = await core.create(owner, shared);
  const other = await comer();
  const { details } = await refusal(core.create(other, shared), "approval_required");
  await core.decideApproval(principal, String(details.approvalId), { decision: "approve" });
  expect((await core.create(other, shared)).id).toBe(id);
  expect((await collect(await core.exec(other, id, ECHO))).exit).toMatchObject({ code: 0 });
});
