import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openers } from "../../test/gateway.ts";
import { refusal, until } from "../../test/outcomes.ts";
import { createCore } from "../create-core.ts";
import { createSealer } from "../secrets/sealer.ts";
import { OPEN_INTERNET, type WebhookNetwork } from "./network.ts";

const { openGateway, openStore, temporaryFolder } = openers(onTestFinished);
const sealer = createSealer(new Uint8Array(32));

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A receiver on this machine, and a network that may reach it and nothing else. */
async function openReceiver(answer: () => number = () => 204, resolve?: WebhookNetwork["resolve"]) {
  const received: Received[] = [];
  const server = createServer(async (incoming, outgoing) => {
    let body = "";
    for await (const part of incoming) body += part;
    received.push({ headers: incoming.headers, body });
    outgoing
      .writeHead(answer(), { location: "http://127.0.0.1:1/elsewhere" })
      .end("a secret of the receiver's");
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const network: WebhookNetwork = {
    resolve: resolve ?? (async () => ["127.0.0.1"]),
    isAllowed: (address) => address === "127.0.0.1",
    protocols: ["http:"],
    retriesMs: [50, 50],
  };
  return { received, network, url: `http://receiver.test:${port}/hook?a=1` };
}

async function openWith(webhookNetwork?: WebhookNetwork) {
  const gateway = await openGateway(undefined, openStore(join(temporaryFolder(), "store.db")));
  const { store, plain } = gateway;
  const core = await createCore({
    store,
    extensions: [plain],
    sealer,
    ...(webhookNetwork && { webhookNetwork }),
  });
  onTestFinished(() => core.close());
  await core.start();
  return { ...gateway, core };
}

describe("AZ-5 webhooks stay out of networks", () => {
  it("takes only addresses of the open internet for such", () => {
    const inside = [
      "127.0.0.1 127.9.9.9 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0",
      "168.63.129.16 192.0.0.192 100.100.100.200 198.18.0.1 224.0.0.1 255.255.255.255 :: ::1 fe80::1 fc00::1",
      "fd00:ec2::254 ::ffff:8.8.8.8 ::ffff:127.0.0.1 ::8.8.8.8 64:ff9b::808:808 64:ff9b:1::1 2002:808:808::1",
      "2001::1 2001:db8::1 ff02::1 fec0::1 localhost 1.1.1 0x7f.1 example.com",
    ].flatMap((line) => line.split(" "));
    for (const address of inside)
      expect([address, OPEN_INTERNET.isAllowed(address)]).toEqual([address, false]);
    const open = ["8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450::1"];
    for (const address of open) expect([address, OPEN_INTERNET.isAllowed(address)]).toEqual([address, true]);
  });

  it.for([
    "https://127.0.0.1/",
    "https://2130706433/",
    "https://0x7f000001/",
    "https://127.1/",
    "https://[::1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:7f00:1]/",
    "https://0x7f.1/",
    "https://0177.0.0.1/",
    "https://127.0.0.1./",
    "https://\uff11\uff12\uff17.0.0.1/",
    "https://127\u30020.0.1/",
    "https://0.0.0.0/",
    "https://100.64.0.1/",
    "https://100.100.100.200/",
    "https://168.63.129.16/",
    "https://172.16.0.1/",
    "https://192.168.1.1/",
    "https://198.18.0.1/",
    "https://[fd00:ec2::254]/",
    "https://[fe80::1]/",
    "https://[64:ff9b::a00:1]/",
    "https://[2002:a00:1::1]/",
    "https://169.254.169.254/latest/meta-data",
    "https://169.254.170.2/",
    "https://10.0.0.1/",
    "https://localhost/",
    "https://localhost./",
    "https://metadata.google.internal/",
    "http://8.8.8.8/",
    "https://user:secret@8.8.8.8/",
    "ftp://8.8.8.8/",
    "file:///etc/passwd",
  ])("refuses %s when it is registered", async (url) => {
    const { core, principal } = await openWith();
    const refused = await refusal(core.createWebhook(principal, { url }), "policy_denied");
    expect(refused.details.rule).toBe("webhook.url");
    expect(await core.listWebhooks(principal)).toEqual([]);
  });

  it("refuses a name with one foot inside", async () => {
    const resolve = async () => ["8.8.8.8", "10.0.0.1"];
    const { core, principal } = await openWith({ ...OPEN_INTERNET, resolve });
    await refusal(core.createWebhook(principal, { url: "https://both.test/" }), "policy_denied");
    const nameless = await openWith({
      ...OPEN_INTERNET,
      resolve: () => Promise.reject(new Error("ENOTFOUND")),
    });
    await refusal(
      nameless.core.createWebhook(nameless.principal, { url: "https://none.test/" }),
      "policy_denied",
    );
    const open = await openWith({ ...OPEN_INTERNET, resolve: async () => ["8.8.8.8"], retriesMs: [] });
    expect(await open.core.createWebhook(open.principal, { url: "https://both.test/" })).toHaveProperty(
      "secret",
    );
  });

  it.for([
    ["moved inside", ["127.0.0.2"]],
    ["has one foot inside", ["127.0.0.1", "10.0.0.1"]],
    ["is nobody's any more", []],
  ] as const)("looks again when it dials, and does not follow a name that %s", async ([, later]) => {
    let addresses: readonly string[] = ["127.0.0.1"];
    const { network, received, url } = await openReceiver(undefined, async () => [...addresses]);
    const { core, principal } = await openWith(network);
    await core.createWebhook(principal, { url });
    addresses = later;
    await core.createKey(principal, {});
    await until(async () => (await core.listWebhooks(principal))[0]?.disabledAtMs !== undefined);
    expect(received).toEqual([]);
    const [webhook] = await core.listWebhooks(principal);
    expect(webhook?.lastError).toMatch(later.length > 0 ? /inside a network/ : /./);
  });
});

it("AZ-5 waits for no body and shows none of it", async () => {
  const server = createServer((_, outgoing) => {
    outgoing.writeHead(500).write("a secret of the receiver's");
  }).listen(0, "127.0.0.1");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, "listening");
  const { network } = await openReceiver();
  const { core, principal } = await openWith(network);
  const { port } = server.address() as AddressInfo;
  await core.createWebhook(principal, { url: `http://receiver.test:${port}/` });
  await core.createKey(principal, {});
  await until(async () => (await core.listWebhooks(principal))[0]?.disabledAtMs !== undefined);
  const told = JSON.stringify([await core.listWebhooks(principal), await core.listEvents(principal)]);
  expect(told).toContain("it answered 500");
  expect(told).not.toContain("secret of the receiver");
});

it("delivers every event in order, signed, as CloudEvents", async () => {
  const { network, received, url } = await openReceiver();
  const { core, principal } = await openWith(network);
  const { webhook, secret } = await core.createWebhook(principal, { url });
  const { id } = await core.create(principal, {});
  await core.destroy(principal, id);
  await until(async () => received.length >= 4);
  const events = (await core.listEvents(principal)).filter(({ seq }) => seq > webhook.cursorSeq);
  expect(received.map(({ headers }) => headers["webhook-id"])).toEqual(events.map((event) => event.id));
  for (const { headers, body } of received) {
    const key = Buffer.from(secret.slice(6), "base64");
    const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
    expect(headers["webhook-signature"]).toBe(
      `v1,${createHmac("sha256", key).update(signed).digest("base64")}`,
    );
    expect(headers["content-type"]).toBe("application/cloudevents+json");
    expect(headers.host).toContain("receiver.test");
  }
  expect(JSON.parse(received[1]!.body)).toMatchObject({
    specversion: "1.0",
    type: "dev.sandboxer.sandbox.created.v1",
    subject: `/sandboxes/${id}`,
    source: `/orgs/${principal.orgId}`,
  });
  expect(JSON.stringify(await core.listEvents(principal))).not.toContain(secret.slice(6));
});

it("tries again in order, sends only what was asked for, and goes on after a restart", async () => {
  let status = 500;
  const { network, received, url } = await openReceiver(() => status);
  const patient = { ...network, retriesMs: Array.from({ length: 100 }, () => 30) };
  const gateway = await openWith(patient);
  const { core, principal, store, plain } = gateway;
  await core.createWebhook(principal, { url, types: ["key.created"] });
  await core.createKey(principal, { name: "one" });
  await core.create(principal, {});
  await core.createKey(principal, { name: "two" });
  await until(async () => received.length >= 2);
  expect(new Set(received.map(({ headers }) => headers["webhook-id"])).size, "the first, again").toBe(1);
  await core.close();
  received.length = 0;
  status = 200;
  const after = await createCore({ store, extensions: [plain], webhookNetwork: patient, sealer });
  onTestFinished(() => after.close());
  await after.start();
  // One that was on its way when the first gateway closed may come as well: no receiver hears an event only once.
  const names = () => [...new Set(received.map(({ body }) => JSON.parse(body).data.key.name))];
  await until(async () => names().length >= 2);
  expect(names()).toEqual(["one", "two"]);
});

it.for([410, 500, 302])("gives up on a receiver that answers %i, and says so", async (status) => {
  const { network, received, url } = await openReceiver(() => status);
  const { core, principal } = await openWith(network);
  const { webhook } = await core.createWebhook(principal, { url });
  await core.createKey(principal, {});
  await until(async () => (await core.listWebhooks(principal))[0]?.disabledAtMs !== undefined);
  expect(received).toHaveLength(status === 410 ? 1 : 3);
  expect((await core.listWebhooks(principal))[0]?.lastError).toBe(`it answered ${status}`);
  expect((await core.listEvents(principal)).at(-1)).toMatchObject({ type: "webhook.disabled" });
  await core.deleteWebhook(principal, webhook.id);
  await refusal(core.deleteWebhook(principal, webhook.id), "not_found");
});

it("is the root key's alone", async () => {
  const { core, principal } = await openWith();
  const admin = await core.authenticate((await core.createKey(principal, { role: "admin" })).apiKey);
  await refusal(core.createWebhook(admin, { url: "https://8.8.8.8/" }), "policy_denied");
  await refusal(core.listWebhooks(admin), "policy_denied");
});
