import { expect, it, onTestFinished } from "vitest";
import { openers } from "../../test/gateway.ts";
import { refusal } from "../../test/outcomes.ts";
import { createPlainExtension } from "../../test/plain-extension.ts";

const { openGateway, openStore, temporaryFolder } = openers(onTestFinished);

async function open() {
  const plain = createPlainExtension(temporaryFolder(), { facets: ["users"] });
  const gateway = await openGateway([plain], openStore());
  const { core, store, principal } = gateway;
  const used = async () => {
    await core.listEvents(principal);
    const events = await store.listEvents(principal.orgId, 0, 1_000);
    return events.filter(({ type }) => /^(files|port|sandbox\.destroying)/.test(type));
  };
  const sandbox = await core.create(principal, {});
  return { ...gateway, sandbox, used };
}

it("AZ-11 writes every use of files down: by whom, through what, of which", async () => {
  const { core, principal, sandbox, used } = await open();
  const { apiKey, key } = await core.createKey(principal, { role: "operator" });
  const agent = await core.authenticate(apiKey);
  const { attachment } = await core.attach(principal, { mode: "chosen", sandbox: sandbox.id, keyId: key.id });
  const files = await core.files(agent, sandbox.id);
  await files.write("made", [Buffer.from("x")]);
  await files.read("made");
  await refusal(files.list("."), "unsupported");
  expect(await used()).toMatchObject([
    {
      type: "files.written",
      principalId: agent.id,
      data: { attachmentId: attachment.id, targets: ["made"] },
    },
    { type: "files.read", sandboxId: sandbox.id, data: { attachmentId: attachment.id, targets: ["made"] } },
  ]);
});

it("AZ-11 counts what repeats, loses none, and tells of it before the end", async () => {
  const { core, principal, sandbox, used } = await open();
  const files = await core.files(principal, sandbox.id);
  for (let at = 0; at < 200; at++) await files.write(`file-${at}-${"x".repeat(200)}`, []);
  expect(await used(), "the first at once, and no more than that").toHaveLength(1);
  await core.destroy(principal, sandbox.id);
  const told = await used();
  expect(told.map(({ type }) => type)).toEqual(["files.written", "files.written", "sandbox.destroying"]);
  expect(told[1]?.data).toMatchObject({ times: 199 });
  const targets = told[1]?.data.targets as string[];
  expect([targets.length, Math.max(...targets.map((one) => one.length))]).toEqual([10, 128]);
});

it("AZ-11 keeps what a denied use was apart from what was granted", async () => {
  const { core, principal, sandbox, used } = await open();
  const { apiKey, key } = await core.createKey(principal, { role: "operator" });
  const agent = await core.authenticate(apiKey);
  const how = { keyId: key.id, access: "read-only" } as const;
  await core.attach(principal, { mode: "chosen", sandbox: sandbox.id, ...how });
  const files = await core.files(agent, sandbox.id);
  await refusal(files.write("a", []), "policy_denied");
  await refusal(core.dial(agent, sandbox.id, 80), "policy_denied");
  expect(await used()).toEqual([]);
});
