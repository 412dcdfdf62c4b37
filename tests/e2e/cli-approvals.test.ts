import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Approval } from "@sandboxer/contract";
import { createClient } from "@sandboxer/sdk";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "../conformance/remove-engine.ts";
import { cliOf, end, firstLine } from "./cli-process.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

describe("sandboxer approvals", () => {
  let home: string;
  let cli: ReturnType<typeof cliOf>;
  let gateway: ReturnType<ReturnType<typeof cliOf>["start"]>;
  let agent: ReturnType<typeof createClient>;
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "sandboxer-approvals-"));
    cli = cliOf(home);
    gateway = cli.start(["up", "--port", "0", "--json"]);
    const { url } = JSON.parse(await firstLine(gateway));
    const file = join(home, "careful.yaml");
    await writeFile(
      file,
      "schema: 1\nname: careful\napprovals: [sandbox.exec]\nnetwork: {egress: guarded}\n",
    );
    expect((await cli.run(["profiles", "publish", file])).code).toBe(0);
    const { apiKey } = JSON.parse((await cli.run(["keys", "create", "--json"])).stdout);
    agent = createClient({ url, apiKey });
  });
  afterAll(async () => {
    await cli.run(["rm", "--all"]);
    await end(gateway, "SIGTERM");
    await removeEngine(join(home, "engine"), home);
  }, 300_000);

  const question = async (work: Promise<unknown>): Promise<string> => {
    const error = await work.catch((thrown: { code: string; details: { approvalId: string } }) => thrown);
    expect(error).toMatchObject({ code: "approval_required" });
    return (error as { details: { approvalId: string } }).details.approvalId;
  };

  it("lists, shows, approves and denies, and asks for more for a while", async () => {
    const sandbox = await agent.sandboxes.create({ profile: "careful" });
    const id = await question(sandbox.run(["echo", "one"]));
    expect((await cli.run(["approvals", "ls"])).stdout).toMatch(
      new RegExp(`${id}.*sandbox.exec.*"echo","one"`),
    );
    expect(JSON.parse((await cli.run(["approvals", "show", id, "--json"])).stdout)).toMatchObject({
      state: "pending",
    });
    expect((await cli.run(["approvals", "approve", id])).stdout).toBe(`${id} approved\n`);
    expect((await sandbox.run(["echo", "one"])).exit).toMatchObject({ code: 0 });
    const other = await question(sandbox.run(["echo", "two"]));
    expect((await cli.run(["approvals", "deny", other])).stdout).toBe(`${other} denied\n`);
    expect((await cli.run(["approvals", "approve", other])).code).toBe(75);
    expect((await cli.run(["approvals", "ls", "--json"])).stdout).toBe("[]\n");
    expect(JSON.parse((await cli.run(["approvals", "ls", "--all", "--json"])).stdout)).toHaveLength(2);
    const words = ["--allow", "files.example.com", "--reason", "a fixture", "--idempotency-key", "more"];
    const elevation = await cli.run(["elevate", sandbox.id, ...words]);
    expect(elevation.stdout).toMatch(/^apr_/);
    expect((await cli.run(["elevate", sandbox.id, ...words])).stdout, "one question").toBe(elevation.stdout);
    expect((await cli.run(["approvals", "approve", elevation.stdout.trim()])).stderr).toContain(
      "whoever asks",
    );
  });

  it("a key pressed before a question was shown answers nothing", async () => {
    const sandbox = await agent.sandboxes.create({ profile: "careful" });
    const child = spawn("script", ["-qec", cli.commandLine(["approvals", "watch"]), "/dev/null"], {
      env: cli.environment,
      stdio: ["pipe", "pipe", "inherit"],
    });
    let seen = "";
    child.stdout.setEncoding("utf8").on("data", (part: string) => (seen += part));
    const stateOf = async (id: string) => (await agent.approvals.get(id)).state;
    const offered = (id: string) =>
      expect
        .poll(() => seen.slice(seen.indexOf(id)), { timeout: 30_000 })
        .toMatch(/^apr_.*[\s\S]*?key: later/);
    try {
      const others = JSON.parse((await cli.run(["approvals", "ls", "--json"])).stdout) as Approval[];
      const foreign = others.filter(({ isYours }) => !isYours);
      expect(foreign, "what this key asked for itself waits, too").not.toHaveLength(0);
      for (const { id, isYours } of others.reverse()) {
        if (!isYours) continue;
        await offered(id);
        child.stdin.write("x");
      }
      const first = await question(sandbox.run(["echo", "first"]));
      await offered(first);
      for (const { id } of foreign)
        expect(seen).toMatch(new RegExp(`${id}.* \\(for somebody else to decide\\)`));
      // What stands behind the answer is nobody's answer either.
      child.stdin.write("nyyy");
      await expect.poll(() => stateOf(first), { timeout: 30_000 }).toBe("denied");
      child.stdin.write("y");
      await sleep(1_000);
      const second = await question(sandbox.run(["echo", "second"]));
      await offered(second);
      child.stdin.write("n");
      await expect.poll(() => stateOf(second), { timeout: 30_000 }).not.toBe("pending");
      expect(await stateOf(second)).toBe("denied");
    } finally {
      const closed = once(child, "close");
      child.kill("SIGTERM");
      await closed;
    }
  });

  it("verify shows its checks, and its sandbox ends, where a destroy waits for somebody", async () => {
    const file = join(home, "lasting.yaml");
    await writeFile(
      file,
      "schema: 1\nname: lasting\napprovals: [sandbox.destroy]\nverify: [[sh, -c, exit 0]]\n",
    );
    expect((await cli.run(["profiles", "publish", file])).code).toBe(0);
    const verified = await cli.run(["profiles", "verify", "lasting"]);
    expect(verified).toMatchObject({ code: 0, stdout: expect.stringContaining("ok  sh -c exit 0") });
    const [, id = ""] = /([a-z0-9]{20}) ends by itself/.exec(verified.stderr) ?? [];
    const { expiresAtMs } = JSON.parse((await cli.run(["inspect", id, "--json"])).stdout);
    expect(expiresAtMs - Date.now()).toBeLessThan(61_000);
  });

  it("the root key makes a second key that decides about what it asks for itself", async () => {
    const box = JSON.parse((await cli.run(["create", "--profile", "careful", "--json"])).stdout);
    const exec = () => cli.run(["exec", box.id, "--json", "--", "echo", "mine"]);
    const refused = await exec();
    const { error } = JSON.parse(refused.stderr);
    expect(error).toMatchObject({ code: "approval_required", hint: expect.stringContaining("second key") });
    const { approvalId } = error.details;
    const own = await cli.run(["approvals", "approve", approvalId, "--json"]);
    expect(JSON.parse(own.stderr).error.hint).toContain("keys create --name second --kind user");
    const rights = ["--kind", "user", "--operations", "approval.read,approval.decide"];
    const second = (await cli.run(["keys", "create", "--name", "second", ...rights])).stdout.trim();
    const beside = cliOf(home, { SANDBOXER_API_KEY: second });
    expect((await beside.run(["approvals", "approve", approvalId])).stdout).toBe(`${approvalId} approved\n`);
    expect(await exec()).toMatchObject({ code: 0, stdout: "mine\n" });
    expect((await cli.run(["keys", "revoke", "second"])).stdout).toMatch(/^key_/);
    expect((await beside.run(["approvals", "ls"])).code, "it was revoked by its name").not.toBe(0);
  });

  it("answers on a terminal with a key", async () => {
    const sandbox = await agent.sandboxes.create({ profile: "careful" });
    const line = cli.commandLine(["approvals", "watch"]);
    const child = spawn("script", ["-qec", line, "/dev/null"], {
      env: cli.environment,
      stdio: ["pipe", "pipe", "inherit"],
    });
    const timer = setTimeout(() => child.kill("SIGKILL"), 90_000);
    let seen = "";
    let answered = 0;
    child.stdout.setEncoding("utf8").on("data", (part: string) => {
      seen += part;
      const asked = seen.split("any other key: later");
      for (; answered < asked.length - 1; answered++) {
        const isOurs = asked[answered]?.includes(sandbox.id);
        child.stdin.write(isOurs ? "y" : "x");
      }
    });
    const closed = once(child, "close");
    const id = await question(sandbox.run(["echo", "three"]));
    await expect.poll(async () => (await agent.approvals.get(id)).state).not.toBe("pending");
    child.kill("SIGTERM");
    await closed;
    clearTimeout(timer);
    expect(seen).toContain(`${id} ${sandbox.id} sandbox.exec`);
    expect((await agent.approvals.get(id)).state).toBe("approved");
  });
});
