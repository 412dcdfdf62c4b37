import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient, type Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { KEY, MODEL } from "./lab/keys.ts";
import { WORLD } from "./lab/lab.ts";
import { type Bench, openBench, text } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

const NEXT = "sk-ant-api03-another0value0that0is0as0long0as0the0first0one0was0-BB";
const RULES = [{ host: "model.test" }];

describe("a secret's life", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench();
    await bench.lab.name("model.test", [WORLD]);
  });
  afterAll(() => bench.close());
  beforeEach(async () => {
    await bench.lab.clear();
    await bench.lab.accept(KEY);
    await bench.client.secrets.set("MODEL_KEY", { value: KEY, bindings: [MODEL] });
  });

  const make = (secrets = ["MODEL_KEY"]) => bench.sandbox({ rules: RULES }, { secrets });
  const code = async (sandbox: Sandbox, more = "") => {
    const line = `curl -s -o /dev/null -w '%{http_code}' ${more} -H "x-api-key: $MODEL_KEY" -d {} https://model.test/v1/messages`;
    return text((await sandbox.run(["sh", "-c", line])).stdout);
  };
  const keysSeen = async () =>
    (await bench.lab.look()).records.flatMap(({ headers = [] }) =>
      headers.filter((one) => one.startsWith("sk-")),
    );
  const agentOf = async (bodyOf: object = {}) => {
    const { apiKey, key } = await bench.client.keys.create({ kind: "agent", ...bodyOf });
    return { key, client: createClient({ url: "http://localhost", apiKey, fetch: bench.gateway.fetch }) };
  };

  /** A client that keeps its connection, and asks again whenever it is told to. */
  const keeping = async (sandbox: Sandbox) => {
    const script = `
import http.client, os, sys
one = http.client.HTTPSConnection("model.test", timeout=60)
for line in sys.stdin:
    one.request("POST", "/v1/messages", "{}", {"x-api-key": os.environ["MODEL_KEY"]})
    answer = one.getresponse(); answer.read(); print(answer.status, flush=True)`;
    const process = await sandbox.exec({ argv: ["python3", "-c", script], stdin: true });
    let said = "";
    const over = (async () => {
      for await (const event of process.events) if (event.type !== "exit") said += text(event.data);
    })();
    const ask = async (all: string) => {
      await process.writeStdin(new TextEncoder().encode("\n"));
      await expect.poll(() => said, { timeout: 30_000 }).toBe(all);
    };
    const end = async () => {
      await process.closeStdin();
      await over;
    };
    return { ask, end };
  };
  const connections = async () =>
    (await bench.lab.look()).records.filter(({ kind }) => kind === "connection").length;

  it("SE-8 rotated, the next request on a kept connection has the new value, and the old is gone", async () => {
    const { ask, end } = await keeping(await make());
    await ask("200\n");
    await bench.client.secrets.rotate("MODEL_KEY", { value: NEXT });
    await bench.lab.accept(NEXT);
    await ask("200\n200\n");
    await end();
    expect(await keysSeen()).toEqual([KEY, NEXT]);
    expect(await connections()).toBe(1);
  });

  it("SE-8 deleted, the next request on a kept connection has no value at all", async () => {
    const { ask, end } = await keeping(await make());
    await ask("200\n");
    await bench.client.secrets.delete("MODEL_KEY");
    await ask("200\n403\n");
    await end();
    expect(await keysSeen()).toEqual([KEY]);
    expect(await connections()).toBe(1);
  });

  it("SE-4 SE-8 rotated or deleted, it is still masked where the far side says it", async () => {
    const sandbox = await make();
    const kept = async (from: Sandbox, ...trust: string[]) =>
      text((await from.run(["curl", "-s", ...trust, "https://model.test/v1/kept"])).stdout).trim();
    expect(await code(sandbox)).toBe("200");
    const placeholder = text((await sandbox.run(["printenv", "MODEL_KEY"])).stdout).trim();
    const stranger = await bench.sandbox({ rules: RULES });
    expect(await kept(stranger, "--cacert", "/home/user/lab.pem"), "control: it is said").toBe(KEY);
    await bench.client.secrets.rotate("MODEL_KEY", { value: NEXT });
    expect(await kept(sandbox)).toBe(placeholder);
    await bench.client.secrets.delete("MODEL_KEY");
    expect(await kept(sandbox)).toBe(placeholder);
  });

  it("deleted or taken back, it is put in no more, and its placeholder is stopped", async () => {
    const { client, key } = await agentOf();
    const guarded = { network: { egress: "guarded" as const, rules: RULES }, secrets: ["MODEL_KEY"] };
    await expect(client.sandboxes.create(guarded)).rejects.toMatchObject({ code: "policy_denied" });
    expect(await client.secrets.list(), "not told of either").toEqual([]);
    await bench.client.secrets.grant("MODEL_KEY", key.id);
    const sandbox = await client.sandboxes.create(guarded);
    expect(await code(sandbox)).toBe("200");
    await bench.client.secrets.revoke("MODEL_KEY", key.id);
    expect(await code(sandbox)).toBe("403");
    await bench.client.secrets.grant("MODEL_KEY", key.id);
    expect(await code(sandbox), "and given again").toBe("200");
    await bench.client.secrets.delete("MODEL_KEY");
    expect(await code(sandbox)).toBe("403");
    expect(await keysSeen()).toEqual([KEY, KEY]);
    await sandbox.destroy();
  });

  it("a grant is not the grantee's to change, and goes with the grant it came from", async () => {
    const { client, key } = await agentOf();
    await bench.client.secrets.grant("MODEL_KEY", key.id);
    const child = await client.keys.create({ kind: "agent" });
    await client.secrets.grant("MODEL_KEY", child.key.id);
    const below = createClient({ url: "http://localhost", apiKey: child.apiKey, fetch: bench.gateway.fetch });
    expect(await below.secrets.list()).toHaveLength(1);
    for (const change of [
      client.secrets.rotate("MODEL_KEY", { value: NEXT }),
      client.secrets.delete("MODEL_KEY"),
    ]) {
      await expect(change).rejects.toMatchObject({ code: "policy_denied" });
    }
    const evil = { value: NEXT, bindings: [{ ...MODEL, host: "evil.test" }] };
    const own = await client.secrets.set("MODEL_KEY", evil);
    const ownersOwn = (await bench.client.secrets.list()).find(({ id }) => id !== own.id);
    expect(ownersOwn?.bindings, "what the grantee calls so is another").toEqual([MODEL]);
    await client.secrets.delete("MODEL_KEY");
    expect(await client.secrets.list(), "its own is gone, the granted one is there").toHaveLength(1);
    await bench.client.secrets.revoke("MODEL_KEY", key.id);
    expect([await client.secrets.list(), await below.secrets.list()]).toEqual([[], []]);
    const file = client.secrets.set("HOSTS_FILE", { ref: "file:/etc/hostname", bindings: [MODEL] });
    await expect(file, "no tenant reads the gateway's files").rejects.toMatchObject({
      code: "policy_denied",
    });
  });

  it("comes from variables, files and commands, which are read again when asked to", async () => {
    const path = join(bench.home, "model.key");
    await writeFile(path, `${KEY}\n`, { mode: 0o600 });
    process.env.LAB_MODEL_KEY = KEY;
    const sources = [{ ref: `file:${path}` }, { ref: "env:LAB_MODEL_KEY" }, { command: ["cat", path] }];
    for (const source of sources) {
      await bench.lab.clear();
      await bench.client.secrets.set("MODEL_KEY", { ...source, bindings: [MODEL] });
      expect(await code(await make()), JSON.stringify(source)).toBe("200");
      expect(await keysSeen()).toEqual([KEY]);
    }
    delete process.env.LAB_MODEL_KEY;
    const sandbox = await make();
    await writeFile(path, `${NEXT}\n`);
    await bench.client.secrets.rotate("MODEL_KEY");
    await bench.lab.accept(NEXT);
    expect(await code(sandbox)).toBe("200");
    const broken = bench.client.secrets.set("OTHER", {
      command: ["sh", "-c", `cat ${path} >&2; exit 1`],
      bindings: [MODEL],
    });
    await expect(broken).rejects.toMatchObject({
      code: "secret_unavailable",
      message: expect.not.stringContaining("sk-"),
    });
  });

  it("is within its profile, and whoever is attached with fewer has those", async () => {
    await bench.client.profiles.publish({
      schema: 1,
      name: "agent",
      network: { egress: "guarded", rules: RULES },
      secrets: ["MODEL_KEY"],
    });
    const sandbox = await bench.client.sandboxes.create({ profile: "agent" });
    const narrower = await bench.client.sandboxes.create({ profile: "agent", secrets: [] });
    await expect(
      bench.client.sandboxes.create({ profile: "agent", secrets: ["OTHER"] }),
    ).rejects.toMatchObject({
      code: "policy_denied",
    });
    expect([await code(sandbox), await code(narrower, "-k")]).toEqual(["200", "401"]);
    const { client, key } = await agentOf({ role: "operator" });
    const terms = { mode: "chosen", sandbox: sandbox.id, keyId: key.id, access: "read-only" } as const;
    await bench.client.attachments.attach(terms);
    const reviewer = await client.sandboxes.get(sandbox.id);
    const placeholder = text((await sandbox.run(["printenv", "MODEL_KEY"])).stdout).trim();
    const asReviewer = (value: string) =>
      reviewer.run(["curl", "-s", "-H", `x-api-key: ${value}`, "-d", "{}", "https://model.test/v1/messages"]);
    expect(text((await asReviewer(placeholder)).stdout)).toContain("where that may not go");
    await bench.client.secrets.grant("MODEL_KEY", key.id);
    expect(text((await asReviewer(placeholder)).stdout), "granted, it may").toContain("four");
    expect(await code(sandbox), "the owner always could").toBe("200");
  });

  it("SN-2 of copies, made while it runs or stacked, none can use what stood for a secret in another", async () => {
    const parent = await bench.sandbox(
      { rules: RULES },
      { secrets: ["MODEL_KEY"], persistence: "persistent" },
    );
    const placeholderOf = async (sandbox: Sandbox) =>
      text((await sandbox.run(["printenv", "MODEL_KEY"])).stdout).trim();
    const old = await placeholderOf(parent);
    // Also where it was kept in a file of the sandbox's own.
    await parent.run(["sh", "-c", "printenv MODEL_KEY > ~/kept; printenv | sort > ~/all"]);
    const [running] = await parent.fork();
    await parent.stop();
    const [stacked] = await parent.fork();
    if (!running || !stacked) throw new Error("there are not two");
    await bench.lab.clear();
    for (const copy of [running, stacked]) {
      expect(await placeholderOf(copy)).not.toBe(old);
      expect(text((await copy.run(["cat", "/home/user/kept"])).stdout).trim(), "control: it is there").toBe(
        old,
      );
      expect(await code(copy)).toBe("200");
      const line = `curl -s -o /dev/null -w '%{http_code}' -H "x-api-key: $(cat ~/kept)" -d {} https://model.test/v1/messages`;
      expect(text((await copy.run(["sh", "-c", line])).stdout)).not.toBe("200");
    }
    expect(await keysSeen(), "once by each copy's own").toEqual([KEY, KEY]);
  });

  it("SN-3 holds after pause, fork, restore and a restart of the gateway", async () => {
    const sandbox = await make();
    await sandbox.pause();
    await sandbox.resume();
    expect(await code(sandbox)).toBe("200");
    const [fork] = await sandbox.fork();
    const snapshot = await sandbox.snapshot();
    const network = { egress: "guarded" as const, rules: RULES };
    const restored = await bench.client.sandboxes.create({
      from: snapshot.id,
      network,
      secrets: ["MODEL_KEY"],
    });
    const variables = await Promise.all(
      [sandbox, fork as Sandbox, restored].map(async (one) =>
        text((await one.run(["printenv", "MODEL_KEY"])).stdout),
      ),
    );
    expect(new Set(variables).size, "each has its own").toBe(3);
    for (const one of [fork as Sandbox, restored]) expect(await code(one)).toBe("200");
    await bench.gateway.close();
    const client = await bench.reopen();
    for (const { id } of [sandbox, fork as Sandbox, restored]) {
      const again = await client.sandboxes.get(id);
      expect(await code(again)).toBe("200");
      expect((await again.run(["curl", "-sf", "https://evil.test/"])).exit).not.toMatchObject({ code: 0 });
    }
  });
});
