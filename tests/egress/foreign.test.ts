import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { PLACEHOLDER_MARK } from "@sandboxer/contract";
import { createClient, type Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { KEY, MODEL } from "./lab/keys.ts";
import { WORLD } from "./lab/lab.ts";
import { guardProcesses } from "./lab/processes.ts";
import { type Bench, openBench, text } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

vi.setConfig({ testTimeout: 180_000 });

const RULES = [
  { host: "model.test", inspect: true },
  { host: "model.test", protocol: "http" as const },
];
/** Of each alphabet that there is. */
const VALUES: Record<string, string> = {
  "a model's key": KEY,
  "a key in hex": "0123456789abcdef0123456789abcdef01234567",
  "a key in capitals": "AKIAIOSFODNN7EXAMPLE",
};
const PACKERS: Record<string, (text: string) => Uint8Array> = {
  gzip: gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
};
/** As like a placeholder as can be, and none. */
const nearly = (placeholder: string) =>
  placeholder.replace(PLACEHOLDER_MARK, PLACEHOLDER_MARK.replace("5", "4"));

describe("SE-3 what stands for a secret of another sandbox", () => {
  let bench: Bench;
  let bare: Sandbox;
  let owner: Sandbox;
  let foreign: string;
  beforeAll(async () => {
    bench = await openBench();
    await bench.lab.name("model.test", [WORLD]);
    await bench.client.secrets.set("MODEL_KEY", { value: KEY, bindings: [MODEL] });
    [bare, owner] = [
      await bench.sandbox({ rules: RULES }),
      await bench.sandbox({ rules: RULES }, { secrets: ["MODEL_KEY"] }),
    ];
    foreign = await placeholderIn(await bench.sandbox({ rules: RULES }, { secrets: ["MODEL_KEY"] }));
  });
  afterAll(() => bench.close());
  beforeEach(() => bench.lab.clear());

  const placeholderIn = async (sandbox: Sandbox) =>
    text((await sandbox.run(["printenv", "MODEL_KEY"])).stdout).trim();
  const send = async (from: Sandbox, word: string, line: string) => {
    const usual = "curl -s -o /dev/null --max-time 60 -w '%{http_code}'";
    const { stdout } = await from.run(["sh", "-c", `${usual} ${line}`], { env: { WORD: word } });
    return text(stdout);
  };
  const arrived = async () => (await bench.lab.look()).records.filter(({ kind }) => kind === "request");
  const alarms = async (sandbox: Sandbox) =>
    (await bench.client.events.list({ limit: 1_000 }))
      .filter(({ type, sandboxId }) => type === "secret.misused" && sandboxId === sandbox.id)
      .map(({ data }) => data);

  const WAYS: Record<string, [place: string, line: string]> = {
    "its own header": ["header", '-H "x-api-key: $WORD" https://model.test/v1/x'],
    "any header, among other words": ["header", '-H "cookie: a=1; key=$WORD; b=2" https://model.test/v1/x'],
    "a header's name": ["header", '-H "x-$WORD: 1" https://model.test/v1/x'],
    "a password of Basic": ["header", '-u "git:$WORD" https://model.test/v1/x'],
    "a name of Basic": ["header", '-u "a$WORD:x" https://model.test/v1/x'],
    "base64 in a header": ["header", '-H "x-a: $(printf %s "ab$WORD" | base64 -w0)" https://model.test/v1/x'],
    "the query": ["query", '"https://model.test/v1/x?a=1&b=$WORD"'],
    "a query's name": ["query", '"https://model.test/v1/x?$WORD=1"'],
    "the query, with percent signs": [
      "query",
      '"https://model.test/v1/x?a=$(printf %s "$WORD" | sed s/5/%35/g)"',
    ],
    "the path": ["path", '"https://model.test/v1/$WORD/x"'],
    "the path, with percent signs": [
      "path",
      '"https://model.test/v1/$(printf %s "$WORD" | sed s/5/%35/g)/x"',
    ],
    "a request in the clear": ["header", '-H "x-api-key: $WORD" http://model.test/v1/x'],
    "by the proxy": ["body", '--proxy http://198.18.0.1:3128 -d "$WORD" https://model.test/v1/x'],
    "a form": ["body", '-d "a=1&key=$WORD" https://model.test/v1/x'],
    JSON: ["body", '-H "content-type: application/json" -d "{\\"$WORD\\":1}" https://model.test/v1/x'],
    "JSON, escaped": [
      "body",
      `-d "\\"$(printf %s "$WORD" | od -An -v -tx1 | tr -d '\\n' | sed 's/ /\\\\u00/g')\\"" https://model.test/v1/x`,
    ],
    "a file of several parts": ["body", '-F "a=b" -F "f=$WORD;filename=x" https://model.test/v1/x'],
    base64: ["body", '-d "$(printf %s "x$WORD" | base64 -w0)" https://model.test/v1/x'],
    "base64 for names of files": [
      "body",
      '-d "$(printf %s "xy$WORD" | base64 -w0 | tr +/ -_)" https://model.test/v1/x',
    ],
    hex: ["body", '-d "$(printf %s "$WORD" | od -An -v -tx1 | tr -d \' \\n\')" https://model.test/v1/x'],
    "percent signs": [
      "body",
      "-d \"$(printf %s \"$WORD\" | od -An -v -tx1 | tr -d '\\n' | tr ' ' %)\" https://model.test/v1/x",
    ],
  };
  it.each(Object.entries(WAYS))("gets nobody out of here, and is told: %s", async (_, [place, line]) => {
    for (const sandbox of [bare, owner]) {
      const before = (await alarms(sandbox)).length;
      expect(await send(sandbox, foreign, line)).toBe("403");
      expect(await arrived()).toEqual([]);
      await expect.poll(async () => (await alarms(sandbox)).length, { timeout: 60_000 }).toBe(before + 1);
      expect((await alarms(sandbox)).at(-1) ?? {}).toMatchObject({ what: "foreign", place });
    }
    expect(await send(bare, nearly(foreign), line), "control: what is none").toBe("200");
    expect(await arrived()).toHaveLength(1);
  });

  it.each(Object.entries(PACKERS))("gets nobody out in a body that is packed as %s", async (coding, pack) => {
    const line = `-H "content-encoding: ${coding}" --data-binary @packed https://model.test/v1/x`;
    const sendPacked = async (word: string) => {
      await bare.files.write("/home/user/packed", [pack(`before ${word} after`)]);
      return send(bare, "", line);
    };
    const before = (await alarms(bare)).length;
    expect(await sendPacked(foreign)).toBe("403");
    expect(await arrived()).toEqual([]);
    await expect.poll(async () => (await alarms(bare)).length, { timeout: 60_000 }).toBe(before + 1);
    expect(await sendPacked(nearly(foreign)), "control").toBe("200");
    expect(await arrived()).toHaveLength(1);
  });

  it.each(Object.entries(VALUES))("has the mark, whatever its shape: %s", async (_, value) => {
    await bench.client.secrets.set("SHAPED", { value, bindings: [MODEL] });
    const victim = await bench.sandbox({ rules: RULES }, { secrets: ["SHAPED"] });
    const word = text((await victim.run(["printenv", "SHAPED"])).stdout).trim();
    const line = '-d "$WORD" https://model.test/v1/x';
    expect(await send(bare, word, line)).toBe("403");
    expect(await arrived()).toEqual([]);
    expect([await send(bare, nearly(word), line), await send(bare, value, line)], "control").toEqual([
      "200",
      "200",
    ]);
    await victim.destroy();
    await bench.client.secrets.delete("SHAPED");
  });

  it("is found in a body wherever it is cut, and nothing of it leaves", async () => {
    const script = `
import http.client, os
word = os.environ["WORD"]
def post(parts):
    one = http.client.HTTPSConnection("model.test", timeout=60)
    one.request("POST", "/v1/x", iter(parts), {"content-type": "text/plain"}, encode_chunked=True)
    return one.getresponse().status
whole = ("." * 3 + word + "." * 3).encode()
print({post([whole[:at], whole[at:]]) for at in range(1, len(whole), 2)})
print(post([bytes([one]) for one in whole]))`;
    const run = async (word: string) =>
      text((await bare.run(["python3", "-c", script], { env: { WORD: word }, timeoutMs: 150_000 })).stdout);
    expect(await run(foreign)).toBe("{403}\n403\n");
    expect(await arrived()).toEqual([]);
    expect(await run(nearly(foreign)), "control").toBe("{200}\n200\n");
  });

  it("is known of another tenant's, of what was deleted or expired, and after the guard began anew", async () => {
    const operator = await bench.gateway.core.authenticate(bench.gateway.apiKey);
    const { apiKey } = await bench.gateway.core.createOrg(operator, { name: "acme" });
    const tenant = createClient({ url: "http://localhost", apiKey, fetch: bench.gateway.fetch });
    await tenant.secrets.set("MODEL_KEY", { value: KEY, bindings: [MODEL] });
    const network = { egress: "guarded" as const, rules: RULES };
    const theirs = await tenant.sandboxes.create({ network, secrets: ["MODEL_KEY"] });
    const deleted = await bench.sandbox({ rules: RULES }, { secrets: ["MODEL_KEY"] });
    const brief = await bench.sandbox({ rules: RULES }, { secrets: ["MODEL_KEY"], ttlMs: 10_000 });
    const words = [await placeholderIn(theirs), await placeholderIn(deleted), await placeholderIn(brief)];
    await deleted.destroy();
    await expect.poll(async () => (await brief.refresh()).state, { timeout: 90_000 }).toBe("expired");
    const line = '-H "x-api-key: $WORD" https://model.test/v1/x';
    for (const word of words) expect(await send(bare, word, line)).toBe("403");
    for (const pid of guardProcesses(bench.home, "guard/main.ts")) process.kill(pid, "SIGKILL");
    await expect
      .poll(() => send(bare, nearly(foreign), line), { timeout: 90_000, interval: 200 })
      .toBe("200");
    await bench.lab.clear();
    for (const word of words) expect(await send(bare, word, line)).toBe("403");
    expect(await arrived()).toEqual([]);
    for (const one of [bare, owner])
      expect((await alarms(one)).every(({ what }) => what === "foreign")).toBe(true);
    await theirs.destroy();
  });

  it("is none of a sandbox's own business: its own is put in where it belongs, and named where it does not", async () => {
    expect(await send(owner, "", '-H "x-api-key: $MODEL_KEY" https://model.test/v1/x')).toBe("200");
    expect(JSON.stringify(await arrived())).toContain(KEY);
    expect(await send(owner, "", '-d "$MODEL_KEY" https://model.test/v1/x')).toBe("403");
    const last = async () => (await alarms(owner)).at(-1);
    await expect.poll(last, { timeout: 60_000 }).toMatchObject({ what: "placeholder", secret: "MODEL_KEY" });
  });
});
