import { createHash, createHmac } from "node:crypto";
import type { ExecResult } from "@sandboxer/contract";
import type { Sandbox } from "@sandboxer/sdk";
import { SignatureV4 } from "@smithy/signature-v4";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { type Recorded, WORLD } from "./lab/lab.ts";
import { type Bench, openBench, text } from "./lab/sandbox.ts";
import { type Keys, verdicts } from "./lab/sigv4.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

/** They open nothing anywhere. */
const REAL: Keys = { id: "AKIALABALABALABALABA", secret: "lab/Secret+0123456789abcdefghijklmnopqrs" };
const NEXT: Keys = {
  id: "ASIALABBLABBLABBLABB",
  secret: "next/Secret+123456789abcdefghijklmnopqrs",
  token: "IQoJlab//////////wEaCXVzLWVhc3Qt+token/of/the/lab==",
};
const written = ({ id, secret, token }: Keys): string => [id, secret, token].filter(Boolean).join(":");

const REGION = "lab-north-1";
const binding = (host: string, service: string) => ({
  host,
  place: { in: "aws-sigv4" as const, region: REGION, service },
});

describe("requests that are signed again", () => {
  let bench: Bench;
  let sandbox: Sandbox;
  let inside: Required<Keys>;
  beforeAll(async () => {
    bench = await openBench();
    for (const name of ["files.test", "table.test", "other.test"]) await bench.lab.name(name, [WORLD]);
    const bindings = [binding("files.test", "s3"), binding("table.test", "dynamodb")];
    await bench.client.secrets.set("CLOUD", { value: written(REAL), bindings });
    const rules = [
      { host: "files.test" },
      { host: "files.test", protocol: "http" as const },
      { host: "table.test" },
      { host: "other.test", inspect: true },
    ];
    sandbox = await bench.sandbox({ rules }, { secrets: ["CLOUD"] });
    const names = ["ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN"];
    const { stdout } = await sandbox.run(["printenv", ...names.map((name) => `AWS_${name}`)]);
    const [id = "", secret = "", token = ""] = text(stdout).split("\n");
    inside = { id, secret, token };
  });
  afterAll(() => bench.close());
  beforeEach(() => bench.lab.clear());

  const plain = (...args: string[]): Promise<ExecResult> =>
    sandbox.run(["curl", "-sS", "--max-time", "20", ...args]);

  /** `curl` signs by itself. */
  const signed = (service: string, ...args: string[]): Promise<ExecResult> =>
    sandbox.run([
      ...["sh", "-c", `exec curl -sS --max-time 20 --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" "$@"`],
      ...["curl", "--aws-sigv4", `aws:amz:${REGION}:${service}`, ...args],
    ]);

  const arrived = async (): Promise<Recorded[]> =>
    (await bench.lab.look()).records.filter(({ kind }) => kind === "request");

  it("SE-1 inside there are three words of the right shape, and none of them is real", () => {
    expect(inside.id).toMatch(/^AKIA[A-Z2-7]{16,}$/);
    expect(inside.secret).toMatch(/^\w{40}$/);
    expect(inside.token).toMatch(/^\w{64}$/);
    expect([REAL.id, REAL.secret]).not.toContain(inside.id);
    expect(inside.secret).not.toBe(REAL.secret);
  });

  it("SE-2 what curl signs inside arrives signed by the real key, and not by the one inside", async () => {
    const calls = [
      await signed("s3", "https://files.test/bucket/a?list-type=2&prefix=x"),
      await signed("dynamodb", "-d", '{"TableName":"t"}', "https://table.test/"),
      await signed(
        ...(["s3", "-H", `x-amz-security-token: ${inside.token}`] as const),
        ...["-X", "PUT", "--data-binary", "b", "https://files.test/bucket/b"],
      ),
    ];
    expect(calls.map(({ stdout }) => text(stdout)).join("")).toMatch(/^(hello from \w+.test\n){3}$/);
    const seen = await arrived();
    expect(seen).toHaveLength(3);
    expect(verdicts(seen, REAL)).toEqual(["right", "right", "right"]);
    const pretender = { ...inside, id: REAL.id, token: undefined };
    expect(verdicts(seen, pretender), "control").toEqual(["wrong", "wrong", "wrong"]);
    const told = JSON.stringify(seen);
    for (const word of [REAL.secret, inside.id, inside.secret, inside.token]) {
      expect(told).not.toContain(word);
    }
  });

  it("what the official signer signs arrives right, whatever is in its path, query and body", async () => {
    const escaped = ["/", "/a%20b/c%2Bd", "/%C3%A4/%28x%29%21%2A%27", "/a~b/c%3Ad%40e%2Cf%3Bg%3Dh%26i%24j"];
    const plain = ["/", "/a%20b/c%2Bd", "/%C3%A4/(x)!*'", "/a~b/c:d@e,f;g=h&i$j"];
    for (const [host, service, paths] of [
      ["files.test", "s3", escaped],
      ["table.test", "dynamodb", plain],
    ] as const) {
      for (const path of paths) {
        await ask(await sign(host, service, { path, query: { b: "2", a: "ä +&=", "a-b": "" } }));
      }
      await ask(await sign(host, service, { path: "/put", method: "PUT", body: "some body\n" }));
      const unsigned = { "x-amz-content-sha256": "UNSIGNED-PAYLOAD" };
      await ask(await sign(host, service, { path: "/put", method: "PUT", body: "more", headers: unsigned }));
    }
    const seen = await arrived();
    expect(seen).toHaveLength(12);
    expect(verdicts(seen, REAL)).toEqual(Array.from({ length: 12 }, () => "right"));
    const changed = seen.map((one) => ({ ...one, what: one.what.replace(" /", " /x") }));
    expect(new Set(verdicts(changed, REAL)), "control").toEqual(new Set(["wrong"]));
  });

  it("SE-2 anywhere else, at another time or by another hand, nothing is signed and nothing leaves", async () => {
    const right = await sign("files.test", "s3", { path: "/x" });
    const signature = /Signature=(\w{64})/.exec(right.headers.authorization ?? "")?.[1] ?? "";
    const forged = signature.replace(/^./, (first) => (first === "0" ? "1" : "0"));
    const streaming = { "x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD" };
    const tries: Record<string, Asked> = {
      "another region": await sign("files.test", "s3", { region: "lab-south-1" }),
      "another service": await sign("files.test", "dynamodb", {}),
      "another host": await sign("other.test", "s3", {}),
      "no TLS": await sign("files.test", "s3", { protocol: "http:" }),
      "piece by piece": await sign("files.test", "s3", { method: "PUT", body: "b", headers: streaming }),
      "an hour ago": await sign("files.test", "s3", { at: new Date(Date.now() - 3_600_000) }),
      "an hour ahead": await sign("files.test", "s3", { at: new Date(Date.now() + 3_600_000) }),
      "another path": { ...right, path: "/y" },
      "another method": { ...right, method: "DELETE" },
      "a forged signature": {
        ...right,
        headers: {
          ...right.headers,
          authorization: right.headers.authorization?.replace(signature, forged) ?? "",
        },
      },
      "the id alone": { ...right, headers: { "x-note": inside.id } },
      "the secret itself": { ...right, headers: { "x-note": inside.secret } },
      "the token itself": { ...right, headers: { "x-note": inside.token } },
    };
    for (const [what, asked] of Object.entries(tries)) {
      const { stdout } = await ask(asked);
      expect(text(stdout), what).toMatch(/403$/);
    }
    const { query = {}, path } = await presign("files.test");
    const target = `${path}?${new URLSearchParams(query as Record<string, string>)}`;
    const presigned = await plain("-w", "%{http_code}", `https://files.test${target}`);
    expect(text(presigned.stdout), "presigned").toMatch(/403$/);
    expect(await arrived()).toEqual([]);
    const isAlarmed = async () =>
      (await bench.client.events.list({ limit: 500 })).some(({ type }) => type === "secret.misused");
    await expect.poll(isAlarmed, { timeout: 30_000 }).toBe(true);
    expect(text((await ask(right)).stdout), "control").toMatch(/200$/);
    expect(verdicts(await arrived(), REAL), "control").toEqual(["right"]);
  });

  it("SE-4 the far side's word of the key comes back as the one inside", async () => {
    await signed("s3", "https://files.test/echo");
    const { stdout } = await signed("s3", "https://files.test/echo");
    expect(text(stdout)).toContain(inside.id);
    expect(text(stdout)).not.toContain(REAL.id);
    expect(JSON.stringify(await arrived()), "control: it was told").toContain(REAL.id);
  });

  it("SE-8 the next value signs from then on, with a token where it has one", async () => {
    await bench.client.secrets.rotate("CLOUD", { value: written(NEXT) });
    await signed("s3", "https://files.test/after");
    await ask(await sign("table.test", "dynamodb", { method: "POST", body: "{}" }));
    expect(verdicts(await arrived(), NEXT)).toEqual(["right", "right"]);
    await expect(bench.client.secrets.rotate("CLOUD", { value: "not-a-pair" })).rejects.toMatchObject({
      code: "invalid_request",
    });
    await bench.lab.clear();
    await bench.client.secrets.delete("CLOUD");
    expect(text((await signed("s3", "-w", "%{http_code}", "https://files.test/gone")).stdout)).toMatch(
      /403$/,
    );
    expect(await arrived()).toEqual([]);
  });

  interface Asked {
    readonly protocol: string;
    readonly hostname: string;
    readonly method: string;
    readonly path: string;
    readonly query?: Record<string, unknown> | undefined;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: unknown;
  }

  interface Wish {
    readonly path?: string;
    readonly method?: string;
    readonly region?: string;
    readonly protocol?: string;
    readonly query?: Record<string, string>;
    readonly headers?: Record<string, string>;
    readonly body?: string;
    readonly at?: Date;
  }

  /** Signed with what is inside, as a program there would. */
  function signer(service: string, region = REGION) {
    const { id: accessKeyId, secret: secretAccessKey, token: sessionToken } = inside;
    const credentials = { accessKeyId, secretAccessKey, sessionToken };
    const uriEscapePath = service !== "s3";
    return new SignatureV4({ credentials, region, service, sha256: Sha256, uriEscapePath });
  }

  async function sign(hostname: string, service: string, wish: Wish): Promise<Asked> {
    const { path = "/x", method = "GET", region, protocol = "https:", query = {}, headers, body, at } = wish;
    const request = { method, protocol, hostname, path, query, headers: { host: hostname, ...headers } };
    const signing = at ? { signingDate: at } : {};
    return signer(service, region).sign({ ...request, ...(body && { body }) }, signing);
  }

  const presign = async (hostname: string): Promise<Asked> =>
    signer("s3").presign({
      ...{ method: "GET", protocol: "https:", hostname, path: "/x" },
      headers: { host: hostname },
    });

  async function ask({ protocol, hostname, method, path, query, headers, body }: Asked): Promise<ExecResult> {
    const pairs = Object.entries(query ?? {}).map(([name, value]) =>
      [name, String(value)].map(encodeURIComponent).join("="),
    );
    const target = pairs.length > 0 ? `${path}?${pairs.join("&")}` : path;
    const lines = Object.entries(headers).flatMap(([name, value]) => ["-H", `${name}: ${value}`]);
    const sent = body ? ["--data-binary", String(body)] : [];
    const usual = ["-g", "--path-as-is", "-o", "/dev/null", "-w", "%{http_code}", "-X", method];
    return plain(...usual, ...lines, ...sent, `${protocol}//${hostname}${target}`);
  }
});

/** What the signer wants its hashes made by. */
class Sha256 {
  readonly #hash;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    const key = secret === undefined ? undefined : bytesOf(secret);
    this.#hash = key ? createHmac("sha256", key) : createHash("sha256");
  }

  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(bytesOf(data));
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }

  reset(): void {}
}

function bytesOf(data: string | ArrayBuffer | ArrayBufferView): Uint8Array {
  if (typeof data === "string") return Buffer.from(data);
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}
