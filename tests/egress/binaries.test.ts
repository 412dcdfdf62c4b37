import type { NetworkCall } from "@sandboxer/contract";
import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { greeting, names } from "./lab/greeting.ts";
import { WORLD } from "./lab/lab.ts";
import { type Bench, curl, openBench, text } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

const PATIENCE = { timeout: 60_000, interval: 100 };

describe("rules for programs", () => {
  let bench: Bench;
  let sandbox: Sandbox;
  beforeAll(async () => {
    bench = await openBench();
    for (const name of ["curl.test", "read.test", "python.test"]) await bench.lab.name(name, [WORLD]);
    const binaries = ["/usr/bin/curl"];
    const rules = [
      { host: "curl.test", binaries },
      { host: "read.test", inspect: true, binaries },
      { host: "python.test", binaries: ["/usr/bin/python3*"] },
    ];
    sandbox = await bench.sandbox({ rules });
  });
  afterAll(() => bench.close());
  beforeEach(() => bench.lab.clear());

  const ask = async (url: string) => text((await curl(sandbox, url)).stdout);
  const askRead = async (program: string, url: string) =>
    text((await sandbox.run([program, "-s", "--max-time", "20", url])).stdout);
  const calls = async (host: string): Promise<NetworkCall[]> =>
    (await sandbox.networkCalls()).calls.filter((call) => call.host === host);
  const requests = async () => (await bench.lab.look()).records.filter(({ kind }) => kind === "request");

  it("let those through that they name, and the log says which it was", async () => {
    expect(await ask("https://curl.test/")).toBe("hello from curl.test\n");
    expect(await askRead("curl", "https://read.test/")).toBe("hello from read.test\n");
    for (const host of ["curl.test", "read.test"]) {
      const isNoted = async () =>
        (await calls(host)).some((one) => one.binary === "/usr/bin/curl" && one.verdict === "allowed");
      await expect.poll(isNoted, PATIENCE).toBe(true);
    }
    expect(await requests()).toHaveLength(2);
  });

  it("and nobody else: not another program, and not the same one under another name", async () => {
    expect(await ask("https://python.test/")).toBe("");
    await sandbox.run(["cp", "/usr/bin/curl", "/home/user/curl"]);
    // It trusts the guard's authority, so that it can read why.
    expect(JSON.parse(await askRead("/home/user/curl", "https://read.test/"))).toMatchObject({
      error: { code: "policy_denied", message: "no rule allows read.test:443 for /home/user/curl" },
    });
    const reason = "no rule allows python.test:443 for /usr/bin/curl";
    await expect.poll(async () => (await calls("python.test"))[0]?.reason, PATIENCE).toBe(reason);
    const denied = async () => (await calls("read.test")).map((one) => one.reason);
    await expect.poll(denied, PATIENCE).toContain("no rule allows read.test:443 for /home/user/curl");
    expect(await requests()).toEqual([]);
    const control = `import urllib.request as u; print(u.urlopen("https://python.test/").status)`;
    const env = { SSL_CERT_FILE: "/home/user/lab.pem" };
    const { stdout, stderr } = await sandbox.run(["python3", "-c", control], { env });
    expect(text(stdout), text(stderr)).toBe("200\n");
  });

  it("open nothing where it cannot be told which program it is, and the log says so", async () => {
    // One socket, and two programs that have it.
    const script = `
import socket, subprocess, sys
one = socket.socket()
one.set_inheritable(True)
other = subprocess.Popen(["sleep", "60"], close_fds=False) if sys.argv[1:] else None
one.settimeout(30)
try:
    one.connect(("python.test", 443))
    one.sendall(bytes.fromhex("${Buffer.from(greeting([names("python.test")]), "latin1").toString("hex")}"))
    print(len(one.recv(4096)) > 0)
except OSError: print(False)
if other: other.kill()`;
    const said = async (...more: string[]) =>
      text((await sandbox.run(["python3", "-c", script, ...more])).stdout).trim();
    expect(await said(), "control: alone it is python").toBe("True");
    await bench.lab.clear();
    await said("shared");
    const unseen = "no rule allows python.test:443, as the program that asks cannot be seen";
    const reasons = async () => (await calls("python.test")).map(({ reason }) => reason);
    await expect.poll(reasons, PATIENCE).toContain(unseen);
    expect((await bench.lab.look()).records, "nobody outside heard of it").toEqual([]);
  });

  it("hold through the proxy as well", async () => {
    const proxied = (program: string) =>
      askRead(program, "https://read.test/").then(() =>
        sandbox.run([program, "-s", "--proxy", "http://198.18.0.1:3128", "https://read.test/x"]),
      );
    expect(text((await proxied("curl")).stdout)).toBe("hello from read.test\n");
    expect(text((await proxied("/home/user/curl")).stdout)).toBe("");
  });
});
