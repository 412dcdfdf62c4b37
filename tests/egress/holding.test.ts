import { setTimeout as sleep } from "node:timers/promises";
import { createClient, type Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { WORLD } from "./lab/lab.ts";
import { guardProcesses } from "./lab/processes.ts";
import { type Bench, curl, openBench, probe, text } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

const RULE = { host: "api.allowed.test" };
const RAW = { host: "raw.allowed.test", protocol: "tcp" as const, ports: [7000] };

/** By name, by address, and where its way out was lent from. */
const TRIES = `
import socket
while True:
    for host, port in [("evil.test", 7000), ("${WORLD}", 7000), ("198.18.0.1", 7000)]:
        try:
            with socket.create_connection((host, port), 5) as one:
                one.sendall(b"x")
                if one.recv(1): print(host, flush=True)
        except OSError: pass
    print("tried", flush=True)`;

describe("a guarded network, while things happen", () => {
  const PATIENCE_MS = 90_000;
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench();
    await bench.lab.name("api.allowed.test", [WORLD]);
    await bench.lab.name("raw.allowed.test", [WORLD]);
  });
  afterAll(() => bench.close());
  beforeEach(() => bench.lab.clear());

  const reaches = async (sandbox: Sandbox) =>
    text((await curl(sandbox, "https://api.allowed.test/")).stdout) === "hello from api.allowed.test\n";
  const untilTrue = async (check: () => Promise<boolean>) => {
    for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await sleep(50)) if (await check()) return;
    throw new Error("it never happened");
  };

  it("EG-14 a connection that loses its rule is closed, and others are not", async () => {
    const sandbox = await bench.sandbox({ rules: [RULE, RAW] });
    const process = await sandbox.exec({
      argv: [
        "bash",
        "-c",
        "exec 3<>/dev/tcp/raw.allowed.test/7000; echo up >&3; head -1 <&3; cat <&3; echo closed",
      ],
    });
    const seen: string[] = [];
    const reading = (async () => {
      for await (const event of process.events) if (event.type === "stdout") seen.push(text(event.data));
    })();
    await untilTrue(async () => seen.join("").includes("up"));
    await sandbox.changeNetwork({ egress: "guarded", rules: [RULE, RAW, { host: "more.test" }] });
    await sleep(300);
    expect(seen.join("")).toBe("up\n");
    await sandbox.changeNetwork({ egress: "guarded", rules: [RULE] });
    await untilTrue(async () => seen.join("").includes("closed"));
    await reading;
    await expect.poll(async () => (await bench.lab.look()).live).toBe(0);
    expect(await reaches(sandbox)).toBe(true);
  });

  it("rules change while it runs, one way and the other", async () => {
    const sandbox = await bench.sandbox({});
    expect(await reaches(sandbox)).toBe(false);
    await sandbox.changeNetwork({ egress: "guarded", rules: [RULE] });
    expect(await reaches(sandbox)).toBe(true);
    await sandbox.changeNetwork({ egress: "guarded" });
    expect(await reaches(sandbox)).toBe(false);
    const sealed = await bench.client.sandboxes.create({});
    await expect(sealed.changeNetwork({ egress: "guarded", rules: [RULE] })).rejects.toMatchObject({
      code: "invalid_state",
    });
  });

  it("EG-20 with the guard or its relay killed, everything is refused at once; then it is guarded again", async () => {
    const sandbox = await bench.sandbox({ rules: [RULE] });
    expect(await reaches(sandbox)).toBe(true);
    // All the while another one tries what nobody may, without a pause.
    const closed = await bench.sandbox({ rules: [RULE] });
    await bench.lab.name("evil.test", [WORLD]);
    const trying = await closed.exec({ argv: ["python3", "-c", TRIES] });
    const said: string[] = [];
    const reading = (async () => {
      for await (const event of trying.events) if (event.type === "stdout") said.push(text(event.data));
    })().catch(() => {});
    await untilTrue(async () => said.length > 0);
    for (const victim of ["guard/main.ts", "relay"]) {
      const [pid] = guardProcesses(bench.home, victim);
      process.kill(pid as number, "SIGKILL");
      const to = ["198.19.0.1", "198.18.0.1"].flatMap((host) => [80, 443].map((port) => [host, port]));
      const answers = await probe(sandbox, { op: "tcp", to, wait: 20 });
      for (const { got = "", seconds } of answers)
        expect({ got, refused: (seconds ?? 20) < 20 }, "not left waiting").toEqual({
          got: "",
          refused: true,
        });
      await untilTrue(() => reaches(sandbox));
    }
    const got = async () =>
      (await bench.lab.look()).records.flatMap(({ what }) => (/evil|:7000/.test(what) ? [what] : []));
    expect({ far: await got(), said: new Set(said.join("").trim().split("\n")) }).toEqual({
      far: [],
      said: new Set(["tried"]),
    });
    // Control: what it tries is there to be reached, and is seen when it is.
    await closed.changeNetwork({ egress: "guarded", rules: [{ ...RAW, host: "evil.test" }] });
    await untilTrue(async () => (await got()).some((what) => what.endsWith(":7000")));
    await untilTrue(async () => said.join("").includes("evil.test"));
    await closed.destroy();
    await reading;
  }, 120_000);

  it("holds after pause and resume", async () => {
    const sandbox = await bench.sandbox({ rules: [RULE] });
    expect(await reaches(sandbox)).toBe(true);
    await sandbox.pause();
    await sleep(200);
    await sandbox.resume();
    expect(await reaches(sandbox)).toBe(true);
    expect((await curl(sandbox, "https://evil.test/")).exit).not.toEqual({ kind: "exited", code: 0 });
  });

  it("XS-2 two sandboxes have rules of their own, and neither passes for the other", async () => {
    const [open, closed] = [await bench.sandbox({ rules: [RULE] }), await bench.sandbox({ rules: [RAW] })];
    expect([await reaches(open), await reaches(closed)]).toEqual([true, false]);
    const heard = async () =>
      (await closed.networkCalls()).calls.map(({ host, verdict }) => ({ host, verdict }));
    await expect.poll(heard).toEqual([{ host: "api.allowed.test", verdict: "denied" }]);
    const address =
      text((await open.run(["getent", "ahostsv4", "api.allowed.test"])).stdout).split(" ")[0] ?? "";
    expect(address).toMatch(/^198\.1[89]\./);
    const borrowed = [
      ["--resolve", `api.allowed.test:443:${address}`],
      ["--proxy", "http://198.18.0.1:3128", "--proxy-user", `${open.id}:${open.id}`],
      ["--proxy", "http://198.18.0.1:3128", "--proxy-header", `X-Sandbox: ${open.id}`],
      ["--proxy", `socks5h://${open.id}:${open.id}@198.18.0.1:1080`],
    ];
    for (const identity of borrowed) {
      const ask = async (sandbox: Sandbox) =>
        text((await curl(sandbox, ...identity, "https://api.allowed.test/")).stdout);
      expect(await ask(closed), identity.join(" ")).toBe("");
    }
    expect(await reaches(open), "control").toBe(true);
  });

  it("whoever is attached with fewer names has those, and the sandbox keeps its own", async () => {
    const sandbox = await bench.sandbox({ rules: [RULE, RAW] });
    const { core } = bench.gateway;
    const owner = await core.authenticate(bench.gateway.apiKey);
    const { apiKey, key } = await core.createKey(owner, { role: "operator", kind: "agent" });
    const agent = createClient({ url: "http://localhost", apiKey, fetch: bench.gateway.fetch });
    const terms = { mode: "chosen", sandbox: sandbox.id, keyId: key.id, access: "read-only" } as const;
    const { attachment } = await core.attach(owner, { ...terms, rules: ["raw.allowed.test:7000"] });
    const reviewer = await agent.sandboxes.get(sandbox.id);
    expect([await reaches(reviewer), await reaches(sandbox)]).toEqual([false, true]);
    const line = "exec 3<>/dev/tcp/raw.allowed.test/7000; echo hi >&3; head -1 <&3";
    expect(text((await reviewer.run(["bash", "-c", line])).stdout)).toBe("hi\n");
    const denied = async () =>
      (await sandbox.networkCalls()).calls.filter(({ verdict }) => verdict === "denied");
    await expect
      .poll(denied)
      .toMatchObject([{ host: "api.allowed.test", attachmentId: attachment.id, rule: "attachment" }]);
    await expect(reviewer.changeNetwork({ egress: "guarded", mode: "audit" })).rejects.toMatchObject({
      code: "policy_denied",
    });
    // One who shares the user cannot be told from the others: then all have what is common.
    await core.attach(owner, { ...terms, access: "read-write", rules: ["raw.allowed.test"], name: "writer" });
    expect(await reaches(sandbox)).toBe(false);
  });

  it("the user's own listeners work on every port, and no port is taken", async () => {
    const sandbox = await bench.sandbox({ rules: [RULE] });
    const script = `
import socket, sys
for port in [1, 53, 80, 443, 1080, 3128, 8080, 15001, 65535]:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(socket.AF_INET, kind) as one:
            one.bind(("0.0.0.0", port))
            if kind == socket.SOCK_STREAM:
                one.listen()
                with socket.create_connection(("127.0.0.1", port), 30) as client: pass
print("all")`;
    const { stdout, stderr } = await sandbox.run(["python3", "-c", script], { user: "root" });
    expect({ out: text(stdout), err: text(stderr) }).toEqual({ out: "all\n", err: "" });
    const tables = await sandbox.run([
      "sh",
      "-c",
      "cat /proc/net/tcp /proc/net/udp | grep -c ' 0A \\|:0035'",
    ]);
    expect(text(tables.stdout).trim()).toBe("0");
  });

  it("proxies are there for programs that want one, under the same rules", async () => {
    const sandbox = await bench.sandbox({ rules: [RULE, { host: "api.allowed.test", protocol: "http" }] });
    const through = async (proxy: string, url: string) =>
      text((await curl(sandbox, "--proxy", proxy, url)).stdout);
    for (const proxy of ["http://198.18.0.1:3128", "socks5://198.18.0.1:1080", "socks5h://198.18.0.1:1080"]) {
      expect(await through(proxy, "https://api.allowed.test/")).toBe("hello from api.allowed.test\n");
      expect(await through(proxy, "https://evil.test/")).toBe("");
      expect(await through(proxy, `https://${WORLD}/`)).toBe("");
    }
    expect(await through("http://198.18.0.1:3128", "http://api.allowed.test/plain")).toBe(
      "hello from api.allowed.test\n",
    );
    expect(await through("http://198.18.0.1:3128", "http://evil.test/plain")).toContain("no rule allows");
    const { records } = await bench.lab.look();
    expect(records.filter(({ kind, what }) => kind === "dns" && what.includes("evil"))).toEqual([]);
  });

  it("audit lets a run through and proposes the rules it would have needed", async () => {
    const sandbox = await bench.sandbox({ mode: "audit" });
    expect(await reaches(sandbox)).toBe(true);
    const last = async () => (await sandbox.networkCalls()).calls.at(-1);
    await expect.poll(last).toMatchObject({ host: "api.allowed.test", verdict: "audited" });
    const { proposed } = await sandbox.networkCalls();
    expect(proposed).toEqual([{ effect: "allow", host: "api.allowed.test", protocol: "https" }]);
    await sandbox.changeNetwork({ egress: "guarded", rules: proposed });
    expect(await reaches(sandbox)).toBe(true);
  });

  it("holds after a restart of the gateway, and nothing gets out in between", async () => {
    const sandbox = await bench.sandbox({ rules: [RULE] });
    const script =
      "while :; do curl -s --max-time 2 --cacert lab.pem https://api.allowed.test/ || echo refused; sleep 0.1; done";
    await sandbox.run(["sh", "-c", `(${script}) > /home/user/log 2>&1 &`]);
    const log = async (from: Sandbox) => text((await from.run(["cat", "/home/user/log"])).stdout);
    await untilTrue(async () => (await log(sandbox)).includes("hello"));
    await bench.gateway.close();
    await bench.lab.settle();
    await bench.lab.clear();
    await sleep(1_000);
    expect((await bench.lab.look()).records).toEqual([]);
    const again = await (await bench.reopen()).sandboxes.get(sandbox.id);
    await untilTrue(async () => /refused\n(?:.*\n)*hello/.test(await log(again)));
    await again.destroy();
  });
});
