import { createClient } from "@sandboxer/sdk";
import { Sandbox, Secret } from "e2b";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { importTestImage, TEST_IMAGE } from "../conformance/docker-image.ts";
import { holds, KEY } from "../egress/lab/keys.ts";
import { WORLD } from "../egress/lab/lab.ts";
import { type Bench, openBench } from "../egress/lab/sandbox.ts";

const { describe, given } = await requires("docker", "linux-userns", "boxd", "egress-lab");

vi.setConfig({ testTimeout: 120_000 });

describe("E2B's own client, with secrets and rules that write headers", () => {
  let bench: Bench;
  let options: { apiKey: string; apiUrl: string; sandboxUrl: string; timeoutMs: number };

  beforeAll(async () => {
    await importTestImage(given.docker);
    bench = await openBench({ DOCKER_HOST: given.docker.host }, { listen: { host: "127.0.0.1", port: 0 } });
    for (const name of ["model.test", "other.test"]) await bench.lab.name(name, [WORLD]);
    const { apiKey, url = "" } = bench.gateway;
    options = { apiKey, apiUrl: url, sandboxUrl: url, timeoutMs: 120_000 };
    const image = { kind: "oci", ref: TEST_IMAGE } as const;
    await Secret.create("model-key", KEY, options);
    await createClient({ url, apiKey }).profiles.publish({
      schema: 1,
      name: "in-docker",
      image,
      extensions: ["docker"],
      secrets: ["model-key"],
    });
  }, 300_000);
  afterAll(() => bench?.close());
  beforeEach(() => bench.lab.clear());

  const seen = async () => (await bench.lab.look()).records.filter(({ kind }) => kind === "request");
  const curl = async (sandbox: Sandbox, line: string) =>
    (await sandbox.commands.run(`curl -s --max-time 60 ${line} || true`)).stdout;
  const network = {
    allowOut: ["model.test", "other.test"],
    rules: {
      "other.test": [{ transform: { headers: { "X-From": "another" } } }],
      "model.test": [
        { transform: { headers: { "X-Api-Key": Secret.fill("model-key"), "X-From": "a rule" } } },
      ],
    },
  };

  it.each(["base", "in-docker"])(
    "SE-1 SE-2 are put in at the edge for what is made of %s",
    async (template) => {
      await using made = await disposable(Sandbox.create(template, { ...options, network }));
      const { sandbox } = made;
      await curl(sandbox, "-H 'x-api-key: mine' -H 'x-from: me' https://model.test/v1/x");
      const [asked, ...more] = await seen();
      expect(more).toEqual([]);
      const headers = asked?.headers?.join("\n") ?? "";
      expect(headers).toContain(KEY);
      expect(headers).toContain("a rule");
      expect(headers).not.toContain("mine");
      // Nowhere else, and nowhere inside.
      await bench.lab.clear();
      await curl(sandbox, "https://other.test/");
      expect((await seen()).map(({ headers: sent = [] }) => holds(sent.join("\n"), KEY))).toEqual([[]]);
      const inside = await sandbox.commands.run("cat /proc/[0-9]*/environ /home/user/* 2>/dev/null; true", {
        user: "root",
      });
      expect(holds(inside.stdout, KEY)).toEqual([]);
      expect(inside.stdout, "control: variables are seen").toContain("HOME=");
      expect((await sandbox.getInfo()).network).toMatchObject({ rules: network.rules });
    },
  );

  it("SE-2 go nowhere by a placeholder that a program sends itself", async () => {
    await using made = await disposable(Sandbox.create("base", { ...options, network }));
    const { sandbox } = made;
    const told = await curl(sandbox, '-H "x-api-key: $model_key" https://other.test/');
    expect(told).toContain("where that may not go");
    expect(await curl(sandbox, '-H "x-other: $model_key" https://model.test/')).toContain("may not go");
    expect(await seen()).toEqual([]);
    expect((await sandbox.commands.run("printenv model_key")).stdout).not.toContain(KEY);
  });

  it("SE-3 are bound by the rules of their owner alone", async () => {
    const root = await bench.gateway.core.authenticate(bench.gateway.apiKey);
    const { apiKey, key } = await bench.gateway.core.createKey(root, { name: "grantee" });
    const grantee = { ...options, apiKey };
    await expect(Sandbox.create("base", { ...grantee, network })).rejects.toThrow("model-key");
    await bench.gateway.core.grantSecret(root, "model-key", { keyId: key.id });
    await using made = await disposable(Sandbox.create("base", { ...grantee, network }));
    expect(await curl(made.sandbox, "https://model.test/")).toContain("may not go");
    expect(await seen()).toEqual([]);
  });

  it("rotate, are listed without what they are, and are gone when they are deleted", async () => {
    await using made = await disposable(Sandbox.create("base", { ...options, network }));
    const next = `${KEY.slice(0, -4)}9999`;
    expect(await Secret.update("model-key", next, options)).toMatchObject({ name: "model-key", version: 2 });
    await curl(made.sandbox, "https://model.test/");
    expect((await seen())[0]?.headers?.join("\n")).toContain(next);
    const listed = await Secret.list(options).nextItems();
    expect(listed.map(({ name }) => name)).toEqual(["model-key"]);
    expect(holds(JSON.stringify(listed), next)).toEqual([]);
    await expect(Secret.create("model-key", KEY, options)).rejects.toThrow("already exists");
    expect(await Secret.destroy("model-key", options)).toBe(true);
    expect(await Secret.destroy("model-key", options)).toBe(false);
    expect(await Secret.exists("model-key", options)).toBe(false);
    await bench.lab.clear();
    expect(await curl(made.sandbox, "https://model.test/")).toContain("may not go");
    expect(await seen()).toEqual([]);
  });
});

async function disposable(making: Promise<Sandbox>) {
  const sandbox = await making;
  return { sandbox, [Symbol.asyncDispose]: async () => void (await sandbox.kill()) };
}
