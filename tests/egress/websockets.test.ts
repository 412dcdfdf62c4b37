import { readFile } from "node:fs/promises";
import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { holds, KEY, MODEL } from "./lab/keys.ts";
import { WORLD } from "./lab/lab.ts";
import { type Bench, openBench, text } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

vi.setConfig({ testTimeout: 120_000 });

const [TEXT, BINARY, MORE, CLOSE, PING] = [0x81, 0x82, 0, 0x88, 0x89];
const FOUND = `ghp_${"a1B2".repeat(9)}`;

interface Said {
  readonly first: number;
  readonly text?: string;
  readonly times?: number;
  readonly step?: number;
  readonly masked?: boolean;
  readonly long?: boolean;
  /** Not before there is such a file. */
  readonly after?: string;
  readonly hear?: number;
}

interface Talk {
  readonly host?: string;
  readonly port?: number;
  readonly path?: string;
  readonly headers?: readonly string[];
  readonly say: readonly Said[];
}

interface Heard {
  readonly head: string;
  readonly heard: readonly { readonly first: number; readonly text: string; readonly over?: string }[];
}

describe("messages of a WebSocket where requests are read", () => {
  let bench: Bench;
  let sandbox: Sandbox;
  let bare: Sandbox;
  let placeholder: string;
  beforeAll(async () => {
    bench = await openBench();
    for (const name of ["model.test", "other.test", "unread.test"]) await bench.lab.name(name, [WORLD]);
    await bench.lab.accept(KEY);
    await bench.client.secrets.set("MODEL_KEY", { value: KEY, bindings: [MODEL] });
    sandbox = await make(undefined, ["MODEL_KEY"]);
    bare = await make(undefined);
    placeholder = text((await sandbox.run(["printenv", "MODEL_KEY"])).stdout).trim();
  });
  afterAll(() => bench.close());
  beforeEach(() => bench.lab.clear());

  async function make(dlp?: "block" | "redact" | "log", secrets: string[] = []): Promise<Sandbox> {
    const rules = [
      { host: "model.test", inspect: true },
      { host: "other.test", inspect: true },
      { host: "other.test", protocol: "http" as const },
      { host: "unread.test" },
    ];
    const made = await bench.sandbox({ rules, ...(dlp && { dlp: { onMatch: dlp } }) }, { secrets });
    const script = await readFile(new URL("lab/websocket.py", import.meta.url));
    await made.files.write("/home/user/websocket.py", [script]);
    return made;
  }
  const talk = async (from: Sandbox, order: Talk): Promise<Heard> => {
    const whole = { host: "other.test", port: 443, path: "/ws", headers: [], ...order };
    const name = `/tmp/order-${Math.random()}.json`;
    await from.files.write(name, [new TextEncoder().encode(JSON.stringify(whole))]);
    const { stdout, stderr } = await from.run(["python3", "websocket.py", name], { timeoutMs: 90_000 });
    return JSON.parse(text(stdout) || `{"head":${JSON.stringify(text(stderr))},"heard":[]}`);
  };
  const messages = async () =>
    (await bench.lab.look()).records
      .filter(({ what }) => what.startsWith("MESSAGE "))
      .map(({ what, body = "" }) => [what.slice("MESSAGE ".length), body]);
  const alarms = async (of: Sandbox) =>
    (await bench.client.events.list({ limit: 1_000 }))
      .filter(({ type, sandboxId }) => /secret.misused|egress.caught/.test(type) && sandboxId === of.id)
      .map(({ data }) => data);
  /** What whoever is cut off is told: by which code, and why. */
  const farewell = ({ heard }: Heard) => {
    const last = heard.filter(({ first }) => first === CLOSE).at(-1);
    const said = Buffer.from(last?.text ?? "", "latin1");
    return said.length < 2 ? [JSON.stringify(heard)] : [said.readUInt16BE(), said.toString("utf8", 2)];
  };

  it("EG-16 pass as they are, whole or in pieces, however they are cut, and so does what is said between", async () => {
    const say: Said[] = [
      { first: TEXT, text: "hello", hear: 1 },
      { first: BINARY, text: "\0\u0001bytes", hear: 1 },
      { first: TEXT, text: "0123456789", times: 7_000, hear: 1 },
      { first: BINARY, text: "byte by byte", step: 1, hear: 1 },
      { first: 1, text: "in " },
      { first: PING, text: "still there?", hear: 1 },
      { first: MORE, text: "three " },
      { first: 0x80, text: "pieces", hear: 1 },
      { first: TEXT, text: "", hear: 1 },
      { first: CLOSE, text: "\u0003\u00e8bye", hear: 1 },
    ];
    const long = "0123456789".repeat(7_000);
    for (const port of [443, 80]) {
      await bench.lab.clear();
      const { head, heard } = await talk(bare, { port, say });
      expect(head).toMatch(/^HTTP\/1.1 101/);
      const texts = ["hello", "\0\u0001bytes", long, "byte by byte", "still there?", "in three pieces", ""];
      expect(heard.map((one) => one.text)).toEqual([...texts, "\u0003\u00e8bye"]);
      expect((await messages()).map(([kind, body]) => [kind, body])).toEqual([
        ["text", "hello"],
        ["binary", "\0\u0001bytes"],
        ["text", long],
        ["binary", "byte by byte"],
        ["ping", "still there?"],
        ["text", "in three pieces"],
        ["text", ""],
        ["close", "\u0003\u00e8bye"],
      ]);
    }
  });

  const HIDDEN: Record<string, (word: string) => Said[]> = {
    "a text": (word) => [{ first: TEXT, text: `it is ${word}, take it`, hear: 1 }],
    bytes: (word) => [{ first: BINARY, text: `\0\u0001${word}`, hear: 1 }],
    "a text that comes byte by byte": (word) => [{ first: TEXT, text: `x${word}`, step: 1, hear: 1 }],
    "two pieces with a ping between": (word) => [
      { first: 1, text: `it is ${word.slice(0, 20)}` },
      { first: PING, text: "x", hear: 1 },
      { first: 0x80, text: word.slice(20), hear: 1 },
    ],
    "pieces of a byte": (word) => [
      { first: 1, text: "." },
      ...Array.from(word, (byte) => ({ first: MORE, text: byte })),
      { first: 0x80, text: ".", hear: 1 },
    ],
    base64: (word) => [{ first: TEXT, text: Buffer.from(`u:${word}`).toString("base64"), hear: 1 }],
    hex: (word) => [{ first: BINARY, text: Buffer.from(word).toString("hex"), hear: 1 }],
    "a ping": (word) => [{ first: PING, text: word, hear: 1 }],
    "a farewell": (word) => [{ first: CLOSE, text: `\u0003\u00e8${word}`, hear: 1 }],
  };
  it.each(Object.entries(HIDDEN))(
    "EG-16 SE-2 SE-3 what stands for a secret, one's own or another's, is stopped and told of: %s",
    async (_, say) => {
      for (const [from, what] of [
        [sandbox, "placeholder"],
        [bare, "foreign"],
      ] as const) {
        const before = (await alarms(from)).length;
        const heard = await talk(from, {
          say: [{ first: TEXT, text: "before", hear: 1 }, ...say(placeholder)],
        });
        expect(heard.heard[0]?.text, "control: the socket is open").toBe("before");
        expect(farewell(heard)).toEqual([
          1008,
          what === "foreign"
            ? "it holds the placeholder of another sandbox's secret"
            : "it holds the placeholder of the secret MODEL_KEY where that may not go",
        ]);
        await expect.poll(async () => (await alarms(from)).length, { timeout: 60_000 }).toBe(before + 1);
        expect((await alarms(from)).at(-1)).toMatchObject({ what, place: "message", host: "other.test" });
      }
      const kinds = (await messages()).filter(([kind]) => kind === "text" || kind === "binary");
      expect(kinds, "no message of it arrived").toEqual([
        ["text", "before"],
        ["text", "before"],
      ]);
      expect(holds(JSON.stringify(await messages()), placeholder)).toEqual([]);
      const calls = async () => (await bare.networkCalls()).calls.slice(-2);
      await expect.poll(calls, { timeout: 60_000 }).toMatchObject([
        { verdict: "allowed", status: 101, path: "/ws" },
        {
          verdict: "denied",
          rule: "secret",
          path: "/ws",
          reason: expect.stringContaining("another sandbox's"),
        },
      ]);
    },
  );

  it("EG-16 control: where nothing is read, a placeholder gets out and is of no use", async () => {
    const { heard } = await talk(sandbox, {
      host: "unread.test",
      say: [{ first: TEXT, text: placeholder, hear: 1 }],
    });
    expect(heard.map((one) => one.text)).toEqual([placeholder]);
    expect(holds(JSON.stringify(await messages()), KEY)).toEqual([]);
  });

  it.each(["tell text", "tell binary", "tell in pieces", "tell in a ping"])(
    "SE-4 a secret that the far side says is masked: %s",
    async (asked) => {
      const say: Said[] = [
        { first: TEXT, text: asked, hear: asked === "tell text" || asked === "tell binary" ? 1 : 2 },
      ];
      const masked = JSON.stringify(await talk(sandbox, { say }));
      expect(holds(masked, KEY)).toEqual([]);
      expect(masked).toContain(placeholder);
      const unmasked = JSON.stringify(await talk(bare, { say }));
      expect(holds(unmasked, KEY), "control: whose it is not, it is not masked for").not.toEqual([]);
    },
  );

  it("SE-2 a key in the header that opens it is put in where it belongs, and nowhere else", async () => {
    const { head } = await talk(sandbox, {
      ...{ host: "model.test", path: "/v1/ws", headers: ["x-api-key: $MODEL_KEY"] },
      say: [],
    });
    expect(head).toMatch(/^HTTP\/1.1 101/);
    const [opened] = (await bench.lab.look()).records.filter(({ what }) => what === "UPGRADE /v1/ws");
    expect(opened?.headers).toContain(KEY);
    const elsewhere = await talk(sandbox, { headers: ["x-api-key: $MODEL_KEY"], say: [] });
    expect(elsewhere.head).toMatch(/^HTTP\/1.1 403/);
  });

  it("SE-8 what is changed while a socket is open holds for its next message", async () => {
    await bench.client.secrets.set("LATER", { value: `${KEY}-old`, bindings: [MODEL] });
    const from = await make(undefined, ["LATER"]);
    const newer = KEY.split("").reverse().join("");
    const say = [
      { first: TEXT, text: "hello", hear: 1 },
      { first: TEXT, text: "tell text", after: "/home/user/go", hear: 1 },
    ];
    const heard = talk(from, { say });
    await expect.poll(messages, { timeout: 60_000 }).toEqual([["text", "hello"]]);
    await bench.client.secrets.rotate("LATER", { value: newer });
    await bench.lab.accept(newer);
    await from.files.write("/home/user/go", [new Uint8Array()]);
    const later = text((await from.run(["printenv", "LATER"])).stdout).trim();
    const told = JSON.stringify((await heard).heard);
    await bench.lab.accept(KEY);
    expect(holds(told, newer)).toEqual([]);
    expect(told).toContain(later);
  });

  it("EG-18 credentials are stopped, written over or told of, as the rules say", async () => {
    const outcome = async (onMatch: "block" | "redact" | "log", first: number) => {
      await bench.lab.clear();
      const from = await make(onMatch);
      const pieces = [
        { first: first & 15, text: `a ${FOUND.slice(0, 9)}` },
        { first: 0x80, text: `${FOUND.slice(9)} b`, hear: 1 },
      ];
      const heard = await talk(from, { say: pieces });
      await expect.poll(async () => (await alarms(from)).length, { timeout: 60_000 }).toBe(1);
      expect((await alarms(from))[0]).toMatchObject({ secret: "github-token", place: "message" });
      await from.destroy();
      return { told: farewell(heard), arrived: (await messages()).map(([, body]) => body) };
    };
    for (const first of [TEXT, BINARY]) {
      expect(await outcome("block", first)).toEqual({
        told: [1008, "it holds what looks like a credential: github-token"],
        arrived: ["\u0003\u00f0"],
      });
      expect((await outcome("redact", first)).arrived).toEqual([`a ${"*".repeat(FOUND.length)} b`]);
      expect((await outcome("log", first)).arrived).toEqual([`a ${FOUND} b`]);
    }
    const free = await talk(bare, { say: [{ first: TEXT, text: FOUND, hear: 1 }] });
    expect(
      free.heard.map((one) => one.text),
      "control: nobody asked for it",
    ).toEqual([FOUND]);
  });

  it("EG-16 no extension is asked for, none is taken, and what comes packed all the same is not passed on", async () => {
    const headers = [
      "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits",
      "Sec-WebSocket-Key: x",
    ];
    const { heard } = await talk(bare, { headers, say: [{ first: TEXT, text: "plain", hear: 1 }] });
    expect(heard.map((one) => one.text)).toEqual(["plain"]);
    const [opened] = (await bench.lab.look()).records.filter(({ what }) => what === "UPGRADE /ws");
    expect(opened?.headers?.join("\n")).not.toMatch(/extensions/i);
    expect(opened?.headers, "control: others are passed on").toContain("Sec-WebSocket-Key");
    expect((await talk(bare, { path: "/ws?packed", headers, say: [] })).head).toMatch(/^HTTP\/1.1 403/);
    for (const asked of ["send packed", "send masked"]) {
      expect(farewell(await talk(bare, { say: [{ first: TEXT, text: asked, hear: 1 }] }))).toEqual([
        1002,
        expect.stringMatching(/^a frame /),
      ]);
    }
  });

  const BROKEN: Record<string, Said[]> = {
    "one that is not masked": [{ first: TEXT, text: "hello", masked: false }],
    "one of an extension": [{ first: 0xc1, text: "hello" }],
    "one of no kind": [{ first: 0x83, text: "hello" }],
    "one with a length said at length": [{ first: TEXT, text: "hello", long: true }],
    "a piece of nothing": [{ first: 0x80, text: "hello" }],
    "one within another": [
      { first: 1, text: "hel" },
      { first: TEXT, text: "lo" },
    ],
    "a ping in pieces": [{ first: 9, text: "hello" }],
    "a ping too long": [{ first: PING, text: "x", times: 126 }],
  };
  it.each(Object.entries(BROKEN))(
    "EG-16 a frame that can be read in two ways is not read: %s",
    async (_, say) => {
      const last = say.at(-1) as Said;
      const heard = await talk(bare, { say: [...say.slice(0, -1), { ...last, hear: 1 }] });
      expect(farewell(heard)).toEqual([1002, expect.stringMatching(/^a frame /)]);
      expect((await messages()).map(([kind]) => kind)).toEqual(["close"]);
      const reason = expect.stringMatching(/^a frame /);
      const told = async () => (await bare.networkCalls()).calls.at(-1);
      await expect.poll(told, { timeout: 60_000 }).toMatchObject({ verdict: "denied", reason });
    },
  );
});
