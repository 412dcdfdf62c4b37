import { execFileSync } from "node:child_process";
import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { greeting, names } from "./lab/greeting.ts";
import { METADATA, OTHER, PRIVATE, type Trap, WORLD } from "./lab/lab.ts";
import { type Bench, converse, openBench } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

vi.setConfig({ testTimeout: 180_000 });

const GATE = "198.18.0.1";
const GET = (host: string) => `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
const byConnect = (host: string, port = 80) => ({
  host: GATE,
  port: 3128,
  pieces: [`CONNECT ${host}:${port} HTTP/1.1\r\n\r\n`, GET(host)],
  whole: true,
});
const byRequest = (host: string) => ({
  host: GATE,
  port: 3128,
  pieces: [`GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`],
  whole: true,
});
const bySocks = (name: string, port = 80) => ({
  host: GATE,
  port: 1080,
  pieces: [
    "\x05\x01\0",
    `\x05\x01\0\x03${String.fromCharCode(name.length)}${name}${String.fromCharCode(port >> 8, port & 255)}`,
    GET(name),
  ],
  whole: true,
});
/** One byte each, as a program would write UTF-8. */
const utf8 = (name: string) => Buffer.from(name).toString("latin1");
const everyWay = (name: string) => [byConnect(name), byRequest(name), bySocks(name)];

describe("names and addresses, however they are spelt", () => {
  let bench: Bench;
  /** Lets everything through that leads nowhere inside: what is refused is refused for its address. */
  let open: Sandbox;
  let trap: Trap;
  beforeAll(async () => {
    bench = await openBench();
    trap = await bench.lab.trap();
    open = await bench.sandbox({ mode: "audit" });
  });
  afterAll(async () => {
    trap.close();
    await bench.close();
  });
  beforeEach(() => bench.lab.clear());

  const reached = async () =>
    (await bench.lab.look()).records.filter(({ kind }) => kind !== "dns").map(({ what }) => what);
  const asked = async () =>
    (await bench.lab.look()).records.filter(({ kind }) => kind === "dns").map(({ what }) => what);

  it("control: an address of the open internet and the trap itself are reached", async () => {
    const answers = await converse(open, everyWay(WORLD));
    expect(answers.map(({ heard }) => heard.at(-1)?.includes("hello from"))).toEqual([true, true, true]);
    expect((await reached()).filter((what) => what === "GET /")).toHaveLength(3);
    const [command = "", ...rest] = bench.lab.prefix;
    execFileSync(command, [...rest, "bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/80"]);
    await expect.poll(() => trap.caught()).toBe(1);
  });

  const SPELLINGS = [
    ...["127.0.0.1", "127.1", "127.0.1", "0x7f.1", "0x7f.0.0.1", "0177.0.0.1", "2130706433", "0x7f000001"],
    ...["017700000001", "127.0.0.1.", "127.000.000.001", "0", "0.0.0.0", "localhost", "localhost."],
    ...["[::1]", "[::]", "[::ffff:7f00:1]", "[::ffff:127.0.0.1]", "[::127.0.0.1]", "[0:0:0:0:0:0:0:1]"],
    ...["[fe80::1%25g0]", "[fe80::1%g0]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[::ffff:0:127.0.0.1]"],
    ...[
      "１２７.0.0.1",
      "127。0。0。1",
      "127．0．0．1",
      "①②⑦.0.0.1",
      "127.0.0.1%00.api.test",
      "%31%32%37.0.0.1",
    ],
    ...[METADATA, "0xa9fea9fe", "2852039166", "0251.0376.0251.0376", "169.254.43518", `[::ffff:${METADATA}]`],
    ...[PRIVATE, "10.592137", "168364297", "93.184.0.2"],
  ];
  it("EG-5 EG-6 no spelling of an address inside leads there, through either proxy", async () => {
    await bench.lab.name("localhost", ["127.0.0.1"]);
    const before = trap.caught();
    const answers = await converse(
      open,
      SPELLINGS.flatMap((one) => everyWay(utf8(one)).map((talk) => ({ ...talk, wait: 20 }))),
    );
    expect(answers).toHaveLength(SPELLINGS.length * 3);
    expect(answers.flatMap(({ heard }) => heard).filter((said) => said.includes("hello from"))).toEqual([]);
    expect({ reached: await reached(), caught: trap.caught() - before }).toEqual({ reached: [], caught: 0 });
  });

  it("EG-5 no name leads to such an address, in whichever record it is, even where a rule names every network", async () => {
    const never = [
      ...["0.1.2.3", "127.0.0.1", "127.9.9.9", METADATA, "169.254.170.2", "169.254.170.23", "192.0.0.192"],
      ...["198.18.0.1", "198.19.1.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "168.63.129.16"],
      ...["100.100.100.200", "::", "::1", "::ffff:127.0.0.1", "::ffff:10.9.9.9", "64:ff9b::a09:909"],
      ...["2002:a09:909::1", "2001::1", "fd00:ec2::254", "fe80::1", "ff02::1", "100::1"],
    ];
    const inside = [
      PRIVATE,
      "10.255.0.1",
      "100.64.0.1",
      "172.16.0.1",
      "192.168.0.1",
      "93.184.0.2",
      "fd12::1",
    ];
    const names: string[] = [];
    for (const address of [...never, ...inside]) {
      names.push(`n${names.length}.inside.test`);
      await bench.lab.name(names.at(-1) as string, [address]);
    }
    await bench.lab.name("metadata.google.internal", [METADATA]);
    names.push("metadata.google.internal");
    const rule = { protocol: "tcp" as const, ports: [80], cidrs: ["0.0.0.0/0", "::/0"] };
    const named = await bench.sandbox({ rules: names.map((host) => ({ ...rule, host })) });
    const before = trap.caught();
    const [unnamed, allowed] = [
      await converse(
        open,
        names.map((name) => byConnect(name)),
      ),
      await converse(
        named,
        names.slice(0, never.length).map((name) => byConnect(name)),
      ),
    ];
    const passed = [...unnamed, ...allowed].flatMap(({ heard }, at) =>
      heard[0]?.includes("403 Forbidden") ? [] : [at],
    );
    expect(passed).toEqual([]);
    expect({ reached: await reached(), caught: trap.caught() - before }).toEqual({ reached: [], caught: 0 });
    // Control: with its network named, the private one is reached by the same words.
    const [reachable] = await converse(named, [byConnect(`n${never.length}.inside.test`)]);
    expect(reachable?.heard.at(-1)).toContain("hello from");
    expect((await reached()).join()).toContain(`${PRIVATE}:80`);
  });

  it("EG-7 another name for a host that leads inside leads there no more than that one does", async () => {
    await bench.lab.name("deep.test", [PRIVATE]);
    await bench.lab.name("alias.test", ["@deep.test", PRIVATE]);
    await bench.lab.name("good.test", ["@real.test", WORLD]);
    const tricked = await bench.sandbox({
      rules: ["alias.test", "good.test"].map((host) => ({ host, protocol: "tcp" as const, ports: [80] })),
    });
    const [bad, good] = await converse(tricked, [byConnect("alias.test"), byConnect("good.test")]);
    expect(bad?.heard[0]).toContain("403 Forbidden");
    expect(good?.heard.at(-1), "control").toContain("hello from good.test");
    expect((await reached()).filter((what) => what.includes(PRIVATE))).toEqual([]);
  });

  it("EG-8 EG-17 one host is allowed, and no other name is taken for it at any stage", async () => {
    await bench.lab.name("api.allowed.test", [WORLD]);
    await bench.lab.name("a.wild.test", [WORLD]);
    const twins = [
      ...["xapi.allowed.test", "api.allowed.testx", "api.allowed.test.evil.test", "apiXallowed.test"],
      ...["allowed.test", "x.api.allowed.test", "wild.test", "b.a.wild.test", "evil.test"],
      ...["x@api.allowed.test", "api.allowed.test@evil.test", "api.allowed.test#evil.test"],
      ...["api.allowed.test\\@evil.test", "evil.test\0.api.allowed.test", "api.allowed.test\0.evil.test"],
      ...["api..allowed.test", ".api.allowed.test", "api.allowed.test..", "api.allowed.test ", "-.wild.test"],
      ...["api。allowed.test", "api.al\u00adlowed.test", "аpi.allowed.test", "xn--pi-7kc.allowed.test"],
      ...["api_allowed.test", "api.allowed.test%00", "api.allowed.test/", "a.wild.test:80", "*.wild.test"],
      "a".repeat(255),
    ];
    for (const name of ["evil.test", "allowed.test", "wild.test", "x.api.allowed.test", "b.a.wild.test"]) {
      await bench.lab.name(name, [OTHER]);
    }
    const one = await bench.sandbox({
      rules: ["api.allowed.test", "*.wild.test"].map((host) => ({
        host,
        protocol: "tcp" as const,
        ports: [80],
      })),
    });
    const same = ["api.allowed.test", "API.Allowed.TEST", "api.allowed.test.", "A.wild.test"];
    const allowed = await converse(
      one,
      same.flatMap((name) => [byConnect(name), bySocks(name)]),
    );
    expect(allowed.map(({ heard }) => heard.at(-1)?.includes("hello from"))).toEqual(allowed.map(() => true));
    expect(new Set(await asked())).toEqual(
      new Set(["A api.allowed.test", "AAAA api.allowed.test", "A a.wild.test", "AAAA a.wild.test"]),
    );
    await bench.lab.clear();
    const talks = twins.map(utf8).flatMap((name) => [byConnect(name), byRequest(name), bySocks(name)]);
    const answers = await converse(one, talks);
    expect(answers.flatMap(({ heard }) => heard).filter((said) => said.includes("hello from"))).toEqual([]);
    expect((await bench.lab.look()).records).toEqual([]);
  });

  it("EG-17 the SOCKS proxy connects and does nothing else", async () => {
    await bench.lab.name("api.allowed.test", [WORLD]);
    const to = (pieces: string[]) => ({ host: GATE, port: 1080, pieces, whole: true });
    const wish = (command: number, rest: string) => `\x05${String.fromCharCode(command)}\0${rest}`;
    const place = "\x01\x5d\xb8\xd8\x22\0\x50";
    const noted = async () =>
      (await open.networkCalls()).calls.filter(
        ({ via, verdict, reason }) =>
          via === "socks" && verdict === "denied" && reason === "not a proxy's language",
      ).length;
    const before = await noted();
    const answers = await converse(open, [
      to(["\x05\x01\0", wish(2, place)]),
      to(["\x05\x01\0", wish(3, place)]),
      to(["\x05\x01\0", wish(1, "\x03\x05a\0b\0c\0\x50")]),
      to(["\x05\x01\0", wish(1, `\x03\xff${"a".repeat(255)}\0\x50`)]),
      to(["\x05\x01\0", wish(1, "\x03\0\0\x50")]),
      to(["\x05\x01\x02", wish(1, place)]),
      to(["\x04\x01\0\x50\x5d\xb8\xd8\x22x\0"]),
    ]);
    expect(answers.map(({ heard }) => heard.flatMap((said) => said.slice(0, 2) || []))).toEqual([
      ["\x05\0", "\x05\x07"],
      ["\x05\0", "\x05\x07"],
      ["\x05\0", "\x05\x08"],
      ["\x05\0", "\x05\x08"],
      ["\x05\0", "\x05\x08"],
      ["\x05\xff"],
      ["\x05\xff"],
    ]);
    expect(await reached()).toEqual([]);
    await expect.poll(noted, { timeout: 30_000 }).toBe(before + 7);
    const [control] = await converse(open, [to(["\x05\x01\0", wish(1, place), GET(WORLD)])]);
    expect(control?.heard.at(-1)).toContain("hello from");
  });

  it("EG-9 EG-17 a tunnel is for what was asked, and for TLS where the rule does not say otherwise", async () => {
    await bench.lab.name("tls.allowed.test", [WORLD]);
    const one = await bench.sandbox({ rules: [{ host: "tls.allowed.test" }] });
    const proxy = (...pieces: string[]) => ({ host: GATE, port: 3128, pieces });
    const socks = (place: string) => ({
      host: GATE,
      port: 1080,
      pieces: ["\x05\x01\0", `\x05\x01\0${place}`],
    });
    const connect = (to: string, more = "") => `CONNECT ${to} HTTP/1.1\r\n${more}\r\n`;
    const answers = await converse(one, [
      proxy(connect("tls.allowed.test:8443")),
      proxy(connect("tls.allowed.test:80")),
      proxy(connect(`${WORLD}:443`)),
      proxy(connect("tls.allowed.test:443", "Host: evil.test:443\r\n")),
      proxy(`${connect("tls.allowed.test:443")}early`),
      proxy(connect("tls.allowed.test:443"), GET("tls.allowed.test")),
      proxy(connect("tls.allowed.test:443"), connect("evil.test:443")),
      proxy(connect("tls.allowed.test:443"), "SSH-2.0-x\r\n"),
    ]);
    expect(answers.map(({ heard }) => heard.map((said) => said.slice(9, 12)))).toEqual([
      ["403"],
      ["403"],
      ["403"],
      ["400"],
      ["400"],
      ["200", ""],
      ["200", ""],
      ["200", ""],
    ]);
    const six = Buffer.from([0x20, 1, ...Array(14).fill(1)]).toString("latin1");
    const byAddress = await converse(one, [
      socks("\x01\x5d\xb8\xd8\x22\x01\xbb"),
      socks(`\x04${six}\x01\xbb`),
    ]);
    expect(byAddress.map(({ heard }) => heard.at(-1)?.slice(0, 2))).toEqual(["\x05\x02", "\x05\x02"]);
    expect(await reached()).toEqual([]);
    const noted = async () =>
      (await one.networkCalls()).calls.map(({ via, verdict, reason }) => `${via} ${verdict} ${reason}`);
    await expect
      .poll(noted, { timeout: 30_000 })
      .toEqual([
        "http-proxy denied no rule allows tls.allowed.test:8443",
        "http-proxy denied no rule allows tls.allowed.test:80",
        `http-proxy denied no rule allows ${WORLD}:443`,
        ...["http-proxy denied not a proxy's language", "http-proxy denied not a proxy's language"],
        ...Array<string>(3).fill("http-proxy failed this is no TLS"),
        `socks denied no rule allows ${WORLD}:443`,
        "socks denied no rule allows 2001:101:101:101:101:101:101:101:443",
      ]);
    // Control: a tunnel that keeps its word gets there.
    await converse(one, [proxy(connect("tls.allowed.test:443"), greeting([names("tls.allowed.test")]))]);
    expect(await reached()).toEqual([expect.stringMatching(/93\.184\.216\.34:443$/)]);
  });
});
