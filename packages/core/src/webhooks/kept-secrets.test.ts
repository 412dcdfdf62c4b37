import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it, onTestFinished } from "vitest";
import { openers } from "../../test/gateway.ts";
import { refusal } from "../../test/outcomes.ts";
import { createCore } from "../create-core.ts";
import { createSealer } from "../secrets/sealer.ts";
import { OPEN_INTERNET } from "./network.ts";

const { openGateway, openStore, temporaryFolder } = openers(onTestFinished);
const webhookNetwork = { ...OPEN_INTERNET, resolve: async () => ["8.8.8.8"] };
const url = "https://receiver.test/";

async function open() {
  const path = join(temporaryFolder(), "store.db");
  const { store, plain, principal } = await openGateway(undefined, openStore(path));
  const sealer = createSealer(randomBytes(32));
  const core = await createCore({ store, extensions: [plain], sealer, webhookNetwork });
  onTestFinished(() => core.close());
  return { core, principal, path, sealer, store };
}

it("keeps no signing secret that the database alone gives away", async () => {
  const { core, principal, path, sealer, store } = await open();
  const { secret, webhook } = await core.createWebhook(principal, { url });
  const files = [path, `${path}-wal`].map((file) => readFileSync(file, "latin1")).join();
  expect(files).toContain("receiver.test");
  expect(files).not.toContain(secret.slice(6));
  const [kept] = await store.listWebhookSecrets();
  expect(sealer.open(`webhook:${webhook.id}`, kept?.secret ?? "")).toBe(secret);
});

it("seals what was written before secrets were sealed, when it starts", async () => {
  const { core, principal, path, sealer, store } = await open();
  const { webhook } = await core.createWebhook(principal, { url });
  const db = new DatabaseSync(path);
  db.exec("UPDATE webhooks SET secret = 'whsec_plain'");
  db.close();
  await core.start();
  const [kept] = await store.listWebhookSecrets();
  expect(sealer.open(`webhook:${webhook.id}`, kept?.secret ?? "")).toBe("whsec_plain");
});

it("AZ-4 makes one of a name and one of an idempotency key, and repeats its secret to who asked", async () => {
  const { core, principal, path } = await open();
  const once = { idempotencyKey: "one" };
  const body = { url, name: "hub" };
  const [first, second] = await Promise.all([
    core.createWebhook(principal, body, once),
    core.createWebhook(principal, body, once),
  ]);
  expect(second).toEqual(first);
  expect(await core.createWebhook(principal, body, once)).toEqual(first);
  await refusal(core.createWebhook(principal, { url }, once), "idempotency_mismatch");
  await refusal(core.createWebhook(principal, body), "conflict");
  expect(await core.listWebhooks(principal)).toHaveLength(1);
  expect(readFileSync(`${path}-wal`, "latin1")).not.toContain(first.secret.slice(6));
});
