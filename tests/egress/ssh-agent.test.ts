import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Approval, ExecResult } from "@sandboxer/contract";
import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { processesOf, readOrNothing } from "../capabilities/processes.ts";
import { requires } from "../capabilities/requires.ts";
import { OTHER, WORLD } from "./lab/lab.ts";
import { makeRepository } from "./lab/packages.ts";
import { type Bench, openBench, text } from "./lab/sandbox.ts";
import { makeKey, type Sshd, startSshd } from "./lab/sshd.ts";

const { describe, given } = await requires("linux-userns", "boxd", "egress-lab", "sshd");

vi.setConfig({ testTimeout: 180_000, hookTimeout: 300_000 });
const PATIENCE = { timeout: 60_000, interval: 100 };
const TYPES = ["ed25519", "ecdsa", "rsa"] as const;

describe("keys that never enter, and sign logins", () => {
  let bench: Bench;
  let sandbox: Sandbox;
  let ours: Sshd;
  let theirs: Sshd;
  const dir = mkdtempSync(join(tmpdir(), "sandboxer-ssh-"));
  const keys = new Map<string, ReturnType<typeof makeKey>>();
  beforeAll(async () => {
    bench = await openBench();
    for (const type of TYPES) keys.set(type, makeKey(join(dir, type), type));
    for (const name of ["asked", "denied"]) keys.set(name, makeKey(join(dir, name), "ed25519"));
    const authorized = [...keys.values()].map((key) => key.public);
    const { path } = given.sshd;
    ours = await startSshd(bench.lab, { path, dir: join(dir, "ours"), address: WORLD, authorized });
    theirs = await startSshd(bench.lab, { path, dir: join(dir, "theirs"), address: OTHER, authorized });
    mkdirSync(join(dir, "git"));
    await makeRepository(join(dir, "git", "project.git"), join(dir, "git", "work"));
    for (const name of ["git.test", "closed.test"]) await bench.lab.name(name, [WORLD]);
    await bench.lab.name("evil.test", [OTHER]);
    for (const type of TYPES) {
      const place = { in: "ssh" as const, sign: "allow" as const, hostKeys: [ours.fingerprint] };
      const value = keys.get(type)?.private ?? "";
      await bench.client.secrets.set(type, { value, bindings: [{ host: "git.test", place }] });
    }
    for (const [name, sign] of [
      ["asked", "ask"],
      ["denied", "deny"],
    ] as const) {
      const place = { in: "ssh" as const, sign };
      const value = keys.get(name)?.private ?? "";
      await bench.client.secrets.set(name, { value, bindings: [{ host: "git.test", place }] });
    }
    const rules = ["git.test", "evil.test"].map((host) => ({ host, protocol: "tcp" as const, ports: [22] }));
    sandbox = await bench.sandbox({ rules }, { secrets: [...TYPES, "asked", "denied"] });
    for (const [name, key] of keys) {
      await sandbox.files.write(`/home/user/${name}.pub`, [new TextEncoder().encode(`${key.public}\n`)]);
    }
    const known = `git.test ${ours.hostKey}\nevil.test ${theirs.hostKey}\n`;
    await sandbox.files.write("/home/user/known", [new TextEncoder().encode(known)]);
  });
  afterAll(async () => {
    ours?.close();
    theirs?.close();
    await bench?.close();
    rmSync(dir, { recursive: true, force: true });
  });
  beforeEach(() => bench.lab.clear());

  /** As anybody would; only where its known hosts are, and which key to use, is said. */
  const options = (key: string): string[] => [
    ...["-o", "UserKnownHostsFile=/home/user/known", "-o", "BatchMode=yes", "-o", "ConnectTimeout=30"],
    ...["-o", "IdentitiesOnly=yes", "-i", `/home/user/${key}.pub`],
  ];
  const ssh = (key: string, host: string, ...args: string[]): Promise<ExecResult> =>
    sandbox.run(["ssh", ...options(key), `root@${host}`, ...args]);
  const accepted = (server: Sshd, key: string): number =>
    server
      .log()
      .split(`Accepted publickey for root`)
      .filter((one) => (one.split("\n")[0] ?? "").includes(keys.get(key)?.fingerprint ?? "?")).length;
  const signatures = async () =>
    (await sandbox.networkCalls()).calls.filter(({ via }) => via === "ssh-agent");

  it("SE-1 show their public halves inside, and are nowhere there themselves", async () => {
    const { stdout } = await sandbox.run(["ssh-add", "-L"]);
    const shown = text(stdout).trim().split("\n");
    const expected = [...keys].map(([name, key]) => `${key.public.split(" ").slice(0, 2).join(" ")} ${name}`);
    expect(shown.toSorted()).toEqual(expected.toSorted());
    const secret = (keys.get("rsa")?.private.split("\n")[20] ?? "none").slice(0, 60);
    const search = (word: string) =>
      sandbox.run(["sh", "-c", `grep -rlsF -- '${word}' /home /tmp /etc /run /var /root; true`], {
        user: "root",
      });
    expect(text((await search(secret)).stdout)).toBe("");
    const open = keys.get("rsa")?.public.slice(30, 90) ?? "none";
    expect(text((await search(open)).stdout), "control").toContain("/home/user/rsa.pub");
  });

  it.each(TYPES)("a key of the kind %s logs in where it is for, and the server says so", async (type) => {
    const { stdout, stderr } = await ssh(type, "git.test", "echo", "in");
    expect(text(stdout), text(stderr)).toBe("in\n");
    await expect.poll(() => accepted(ours, type), PATIENCE).toBe(1);
    const isNoted = async () =>
      (await signatures()).some(({ key, verdict }) => key === type && verdict === "allowed");
    await expect.poll(isNoted, PATIENCE).toBe(true);
    const [call] = (await signatures()).filter(({ key }) => key === type);
    expect(call).toMatchObject({ host: "git.test", hostKey: ours.fingerprint, method: "SIGN" });
  });

  it("git goes through it, by the rule for port 22", async () => {
    const command = `ssh ${options("ed25519").join(" ")}`;
    const clone = (host: string, to: string) =>
      sandbox.run(["git", "clone", "-q", `ssh://root@${host}${join(dir, "git", "project.git")}`, to], {
        env: { GIT_SSH_COMMAND: command },
      });
    const { stderr } = await clone("git.test", "/home/user/clone");
    const { stdout } = await sandbox.run(["cat", "/home/user/clone/README"]);
    expect(text(stdout), text(stderr)).toBe("from the lab\n");
    await bench.lab.clear();
    await clone("closed.test", "/home/user/closed");
    const { records } = await bench.lab.look();
    expect(
      records.filter(({ kind }) => kind !== "dns"),
      "no rule, no connection",
    ).toEqual([]);
  });

  it("SE-2 signs for no other host, nothing but logins, and not for whoever is further away", async () => {
    const { stdout } = await ssh("ed25519", "evil.test", "echo", "in");
    expect(text(stdout)).toBe("");
    const denied = async () =>
      (await signatures()).filter(({ verdict }) => verdict === "denied").map(({ reason }) => reason);
    await expect
      .poll(denied, PATIENCE)
      .toContain(`the key ed25519 is not for a host with the key ${theirs.fingerprint}`);
    await expect.poll(() => theirs.log(), PATIENCE).toContain("Connection from");
    expect(accepted(theirs, "ed25519")).toBe(0);
    const note = await sandbox.run(
      [
        "sh",
        "-c",
        "echo x > /home/user/x; ssh-keygen -q -Y sign -n file -f /home/user/ed25519.pub /home/user/x; ls /home/user",
      ],
      {},
    );
    expect(text(note.stdout)).toContain("ed25519.pub");
    expect(text(note.stdout)).not.toContain("x.sig");
    await sandbox.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "/home/user/own"]);
    const added = await sandbox.run(["ssh-add", "/home/user/own"]);
    expect(text(added.stderr)).toContain("refused");
    const before = accepted(ours, "ed25519");
    const hop = `ssh -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes root@${WORLD} echo far`;
    const far = await sandbox.run(["ssh", "-A", ...options("ed25519"), "root@git.test", hop]);
    expect(text(far.stdout)).toBe("");
    await expect.poll(denied, PATIENCE).toContain("it is asked for from where this program is logged in");
    await expect.poll(() => accepted(ours, "ed25519"), PATIENCE).toBe(before + 1);
  });

  it("signs nothing where it says so, and nobody is asked", async () => {
    expect(text((await ssh("denied", "git.test", "echo", "in")).stdout)).toBe("");
    const reasons = async () =>
      (await signatures()).flatMap(({ key, verdict, reason }) =>
        key === "denied" ? `${verdict} ${reason}` : [],
      );
    await expect.poll(reasons, PATIENCE).toContain("denied the key denied signs nothing for git.test");
    expect(await bench.client.approvals.list({ state: "pending" })).toEqual([]);
    expect(accepted(ours, "denied")).toBe(0);
    expect(text((await ssh("ed25519", "git.test", "echo", "in")).stdout), "control").toBe("in\n");
  });

  it("waits for somebody's word where it says so, and shows the key and the host", async () => {
    const pending = async (): Promise<Approval | undefined> =>
      (await bench.client.approvals.list({ state: "pending" }))[0];
    const answer = async (decide: (id: string) => Promise<unknown>) => {
      const login = ssh("asked", "git.test", "echo", "in");
      await expect.poll(pending, PATIENCE).toBeDefined();
      const approval = await pending();
      expect(approval?.action).toMatchObject({
        ...{ kind: "signature", key: "asked", host: "git.test", user: "root" },
        ...{ fingerprint: keys.get("asked")?.fingerprint, hostKey: ours.fingerprint },
      });
      await expect(bench.client.approvals.approve(approval?.id ?? "", "sandbox")).rejects.toMatchObject({
        code: "invalid_request",
      });
      await decide(approval?.id ?? "");
      return text((await login).stdout);
    };
    expect(await answer((id) => bench.client.approvals.deny(id))).toBe("");
    expect(accepted(ours, "asked")).toBe(0);
    expect(await answer((id) => bench.client.approvals.approve(id))).toBe("in\n");
    await expect.poll(() => accepted(ours, "asked"), PATIENCE).toBe(1);
  });

  it("EG-21 whoever asks and does not listen waits, and then hears everything", async () => {
    const script = `
import os, select, socket, struct
one = socket.socket(socket.AF_UNIX)
one.connect(os.environ["SSH_AUTH_SOCK"])
one.setblocking(False)
words = struct.pack(">IB", 1, 11) * 2000000
sent, answers, held = 0, 0, b""
while sent < len(words) and select.select([], [one], [], 5)[1]: sent += one.send(words[sent : sent + 65536])
print(sent < len(words), flush=True)
asked = sent // 5
while answers < asked:
    select.select([one], [], [])
    held += one.recv(1 << 20)
    at = 0
    while len(held) - at >= 4 and len(held) - at >= 4 + struct.unpack_from(">I", held, at)[0]:
        at += 4 + struct.unpack_from(">I", held, at)[0]
        answers += 1
    held = held[at:]
print(answers == asked)`;
    const { stdout, stderr } = await sandbox.run(["python3", "-c", script], { timeoutMs: 100_000 });
    expect({ out: text(stdout), err: text(stderr) }).toEqual({ out: "True\nTrue\n", err: "" });
  });

  it("a key that cannot be used is refused when it is given", async () => {
    const place = { in: "ssh" as const };
    const bindings = [{ host: "git.test", place }];
    const refused = { code: "invalid_request" };
    await expect(bench.client.secrets.set("bad", { value: "no-key-at-all", bindings })).rejects.toMatchObject(
      refused,
    );
    const allow = [{ host: "git.test", place: { in: "ssh" as const, sign: "allow" as const } }];
    const value = keys.get("rsa")?.private ?? "";
    await expect(bench.client.secrets.set("bad", { value, bindings: allow })).rejects.toMatchObject(refused);
  });

  it("SE-8 is not there after it was taken away, and is after the guard or the gateway began anew", async () => {
    const login = async (key: string) => text((await ssh(key, "git.test", "echo", "in")).stdout);
    expect(await login("ecdsa"), "control").toBe("in\n");
    await bench.client.secrets.delete("ecdsa");
    expect(await login("ecdsa")).toBe("");
    expect(text((await sandbox.run(["ssh-add", "-L"])).stdout)).not.toContain(" ecdsa\n");
    const isGuard = (pid: number) => readOrNothing(`/proc/${pid}/cmdline`).includes("guard/main.ts");
    const guard = processesOf(bench.home).filter(isGuard);
    expect(guard).toHaveLength(1);
    for (const pid of guard) process.kill(pid, "SIGKILL");
    await expect.poll(() => login("rsa"), PATIENCE).toBe("in\n");
    await bench.gateway.close();
    const client = await bench.reopen();
    sandbox = await client.sandboxes.get(sandbox.id);
    await expect.poll(() => login("rsa"), PATIENCE).toBe("in\n");
    expect(await login("ecdsa")).toBe("");
  });
});
