import { readFile } from "node:fs/promises";
import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { WORLD } from "./lab/lab.ts";
import { type Bench, openBench, text } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab", "egress-clients");

vi.setConfig({ testTimeout: 120_000 });

const HOST = "rpc.test";
const HTTP_1_1_REQUIRED = 13;
const WORDS = ["one", "two", "x".repeat(40_000)];
const NOT_READ =
  "HTTP/2 is not read here: speak HTTP/1.1, or have a rule for this host that is not about requests";

interface Told {
  readonly heard: string[];
  readonly status?: string;
  readonly goaway?: [code: number, why: string];
  readonly error?: string;
}

describe("EG-16 gRPC and HTTP/2", () => {
  let bench: Bench;
  let unread: Sandbox;
  let read: Sandbox;
  beforeAll(async () => {
    bench = await openBench();
    for (const name of [HOST, "evil.test"]) await bench.lab.name(name, [WORLD]);
    unread = await make([
      { host: HOST, ports: [8444] },
      { host: HOST, protocol: "tcp", ports: [50051] },
    ]);
    read = await make([
      { host: HOST, ports: [443, 8444], paths: ["/**"] },
      { host: HOST, protocol: "http" },
    ]);
  });
  afterAll(() => bench.close());
  beforeEach(() => bench.lab.clear());

  async function make(rules: Parameters<Bench["sandbox"]>[0]["rules"]): Promise<Sandbox> {
    const sandbox = await bench.sandbox({ rules });
    const client = await readFile(new URL("lab/grpc-client.mjs", import.meta.url));
    await sandbox.files.write("/home/user/call.mjs", [client]);
    return sandbox;
  }
  const call = async (sandbox: Sandbox, address: string): Promise<Told> => {
    const { stdout, stderr } = await sandbox.run(["node", "call.mjs", address, ...WORDS], {
      timeoutMs: 90_000,
    });
    return JSON.parse(text(stdout) || JSON.stringify({ error: text(stderr) }));
  };
  const arrived = async () => (await bench.lab.look()).records.filter(({ kind }) => kind !== "dns");
  const heard = WORDS.map((word) => `heard ${word}`);
  const lastCall = (sandbox: Sandbox) => async () => (await sandbox.networkCalls()).calls.at(-1);

  it.each([`https://${HOST}:8444`, `http://${HOST}:50051`])(
    "pass both ways, message by message, where nothing is read: %s",
    async (address) => {
      expect(await call(unread, address)).toEqual({ heard, status: "0" });
      const messages = (await arrived()).filter(({ kind }) => kind === "request");
      expect(messages.map(({ what, body }) => [what, body])).toEqual(
        WORDS.map((word) => ["HTTP/2 POST /lab.Echo/Talk", word]),
      );
      const { port } = new URL(address);
      await expect
        .poll(lastCall(unread), { timeout: 30_000 })
        .toMatchObject({ host: HOST, port: Number(port), verdict: "allowed" });
    },
  );

  it.each([
    [`https://${HOST}:8444`, { host: HOST, port: 8444 }],
    [`http://${HOST}:80`, { host: HOST, port: 80 }],
    ["http://198.18.0.1:3128", { via: "http-proxy", port: 3128 }],
  ])("are told why not where requests are read, and nothing of them leaves: %s", async (address, place) => {
    const told = await call(read, address);
    expect(told).toMatchObject({ heard: [], goaway: [HTTP_1_1_REQUIRED, NOT_READ] });
    expect(await arrived()).toEqual([]);
    await expect
      .poll(lastCall(read), { timeout: 30_000 })
      .toMatchObject({ ...place, verdict: "denied", reason: NOT_READ });
  });

  it("are told of a host that no rule allows as HTTP/1.1 is", async () => {
    const { goaway, heard: got } = await call(read, "https://evil.test:443");
    expect(got).toEqual([]);
    expect(goaway?.[1]).toMatch(/^no rule allows evil\.test:443\. Outside, `sandboxer net/);
    expect(await arrived()).toEqual([]);
  });

  it("control: a client that speaks both is read in HTTP/1.1", async () => {
    const line = `curl -s --http2 -w ' %{http_version}' https://${HOST}/x`;
    const { stdout } = await read.run(["sh", "-c", line]);
    expect(text(stdout)).toBe(`hello from ${HOST}\n 1.1`);
    expect((await arrived()).at(-1)).toMatchObject({ what: "GET /x" });
  });
});
