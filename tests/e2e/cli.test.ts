import { once } from "node:events";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@sandboxer/sdk";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "../conformance/remove-engine.ts";
import { cliOf, end, firstLine } from "./cli-process.ts";

const { describe } = await requires("linux-userns", "boxd");

let home: string;
let cli: ReturnType<typeof cliOf>;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "sandboxer-cli-"));
  cli = cliOf(home);
});
afterAll(async () => {
  await cli.run(["rm", "--all"]);
  await removeEngine(join(home, "engine"), home);
}, 300_000);

vi.setConfig({ testTimeout: 120_000 });

describe("run", () => {
  it("prints what the command prints and nothing else", async () => {
    expect(await cli.run(["run", "--", "echo", "hi"])).toEqual({ code: 0, stdout: "hi\n", stderr: "" });
  });

  it.each([
    ["its exit code", ["sh", "-c", "exit 7"], 7],
    ["the signal that ended it", ["sh", "-c", "kill -TERM $$"], 143],
    ["that it is not there", ["no-such-program-here"], 127],
  ])("passes on %s", async (_, argv, code) => {
    expect((await cli.run(["run", "--", ...argv])).code).toBe(code);
  });

  it("ends a command at its timeout", async () => {
    expect((await cli.run(["run", "--timeout", "300ms", "--", "sleep", "60"])).code).toBe(124);
  });

  it("keeps the streams apart and passes input and variables", async () => {
    const script = 'cat; echo "$A" >&2';
    const ended = await cli.run(["run", "--env", "A=b=c", "--", "sh", "-c", script], "in\0put");
    expect(ended).toEqual({ code: 0, stdout: "in\0put", stderr: "b=c\n" });
  });

  it("does not wait for input that never ends", async () => {
    const child = cli.start(["run", "--", "echo", "done"]);
    expect(await firstLine(child)).toBe("done");
    await expect.poll(() => child.exitCode).toBe(0);
  });

  it("passes an interrupt on", async () => {
    const script = "trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.05; done";
    const child = cli.start(["run", "--", "sh", "-c", script]);
    expect(await firstLine(child)).toBe("ready");
    expect(await end(child, "SIGINT")).toBe(5);
  });

  it("leaves no sandbox behind", async () => {
    expect(JSON.parse((await cli.run(["ls", "--json"])).stdout)).toEqual([]);
  });
});

describe("a sandbox that stays", () => {
  it("is paused, says what it uses, and goes on", async ({ skip }) => {
    if (process.getuid?.() !== 0) skip("an ordinary user has no control group to pause with");
    const limits = ["--cpus", "0.5", "--memory", "64M", "--disk", "32M", "--require-limits"];
    const id = (await cli.run(["create", ...limits])).stdout.trim();
    expect((await cli.run(["pause", id])).stdout).toBe(`${id}\n`);
    expect((await cli.run(["exec", id, "--", "true"])).code).toBe(75);
    const stats = JSON.parse((await cli.run(["stats", id, "--json"])).stdout);
    expect(stats.memoryLimitBytes).toBe(64 * 2 ** 20);
    expect((await cli.run(["stats", id])).stdout).toMatch(/^CPU TIME .*\n\d+\.\d\ds .* 64\.0 MiB /);
    expect((await cli.run(["resume", id])).stdout).toBe(`${id}\n`);
    expect((await cli.run(["exec", id, "--", "echo", "on"])).stdout).toBe("on\n");
    expect((await cli.run(["rm", id])).code).toBe(0);
    expect((await cli.run(["create", "--memory", "1M"])).code).toBe(2);
  });

  it("goes from create to rm, each command a process of its own", async () => {
    const created = await cli.run([
      "create",
      "--name",
      "web",
      "--ttl",
      "5m",
      "--env",
      "A=1",
      "--label",
      "team=x",
    ]);
    expect(created).toMatchObject({ code: 0, stderr: "" });
    const id = created.stdout.trim();
    expect(id).toMatch(/^[a-z0-9]{20}$/);

    const executed = await cli.run([
      "exec",
      "web",
      "--cwd",
      "/tmp",
      "--",
      "sh",
      "-c",
      'echo "$A"; pwd; exit 3',
    ]);
    expect(executed).toEqual({ code: 3, stdout: "1\n/tmp\n", stderr: "" });

    const listed = await cli.run(["ls"]);
    expect(listed.stdout).toMatch(/^ID +NAME +STATE +IMAGE +AGE +EXPIRES\n/);
    expect(listed.stdout).toMatch(new RegExp(`${id} +web +running +host +\\d+s +in [45]m`));

    expect(await cli.run(["rm", "web"])).toEqual({ code: 0, stdout: "web\n", stderr: "" });
    for (const verb of ["receipt", "inspect"]) {
      const told = await cli.run([verb, "web"]);
      expect(told, "of the newest that is over").toMatchObject({
        code: 0,
        stdout: expect.stringContaining(id),
      });
      expect((await cli.run([verb, "never-was"])).code).toBe(66);
    }
    expect((await cli.run(["exec", id, "true"])).code).toBe(69);
    expect((await cli.run(["ls", "--all"])).stdout).toMatch(new RegExp(`${id} +web +destroyed`));
  });
});

describe("a group of commands", () => {
  it.each(["images", "keys", "profiles", "snapshots", "secrets", "volumes", "approvals", "orgs", "webhooks"])(
    "%s alone lists",
    async (group) => {
      const listed = await cli.run([group]);
      expect(listed).toMatchObject({
        code: 0,
        stderr: "",
        stdout: expect.stringMatching(/^(ID|NAME|PROFILE) /),
      });
      const asJson = await cli.run([group, "--json"]);
      expect(asJson).toEqual(await cli.run([group, "ls", "--json"]));
      expect(JSON.parse(asJson.stdout)).toBeInstanceOf(Array);
    },
  );
});

describe("mistakes", () => {
  it.each([
    [["rnu"], "hint: Did you mean run?"],
    [["delete", "web"], "hint: Here that is `sandboxer rm`."],
    [["images", "delete"], "hint: Here that is `sandboxer images rm`."],
    [["run"], "hint: Name the command to run"],
    [["run", "--timout", "1s", "true"], "hint: Did you mean --timeout?"],
    [["create", "--ttl", "soon"], "hint: Give a time such as"],
    [["rm"], "--all"],
    [["run", "--access", "read-only", "--", "true"], "--access is about a folder"],
    [["create", "--allow-sensitive"], "--allow-sensitive is about a folder"],
  ])("%j is answered with advice", async (args, advice) => {
    const ended = await cli.run(args);
    expect(ended).toMatchObject({ code: 2, stdout: "" });
    expect(ended.stderr).toContain(advice);
    expect(ended.stderr, "all of one shape").toMatch(/^error: .+\nhint: .+\n$/);
  });

  it("include more processors than there are, said by who lacks them", async () => {
    const ended = await cli.run(["run", "--cpus", "4000", "--json", "--", "true"]);
    expect(ended.code).not.toBe(0);
    const { error } = JSON.parse(ended.stderr);
    expect(error.code).toBe("no_candidate");
    expect(JSON.stringify(error)).toMatch(/has \d+ processors; 4000 are asked/);
  });

  it.each([[["rnu", "--json"]], [["ls", "--json", "more"]], [["create", "--json", "--ttl", "soon"]]])(
    "%j, found before anything runs, come as JSON too",
    async (args) => {
      const ended = await cli.run(args);
      expect(ended).toMatchObject({ code: 2, stdout: "" });
      expect(JSON.parse(ended.stderr)).toMatchObject({ error: { code: "invalid_request" } });
    },
  );

  it("come as JSON where that is asked", async () => {
    const ended = await cli.run(["exec", "nobody", "--json", "--", "true"]);
    expect(ended.code).toBe(66);
    expect(JSON.parse(ended.stderr)).toMatchObject({ error: { code: "not_found" } });
  });
});

describe("up", () => {
  it("serves the SDK and the CLI over HTTP, alone in its home, until it is told to end", async () => {
    const gateway = cli.start(["up", "--port", "0", "--json"]);
    try {
      const { url, apiKey } = JSON.parse(await firstLine(gateway));
      const client = createClient({ url, apiKey });
      const sandbox = await client.sandboxes.create({ name: "over-http" });
      const result = await sandbox.run(["cat"], { input: "through HTTP" });
      expect(new TextDecoder().decode(result.stdout)).toBe("through HTTP");

      expect((await cli.run(["ls"])).stdout).toContain("over-http");
      expect((await cli.run(["run", "--", "echo", "by the gateway"])).stdout).toBe("by the gateway\n");
      const second = await cli.run(["up", "--port", "0"]);
      expect(second.code).toBe(75);
      expect(second.stderr).toContain(url);

      await sandbox.destroy();
      expect(await end(gateway, "SIGTERM")).toBe(0);
    } finally {
      gateway.kill("SIGKILL");
    }
  });

  it("starts again after it was killed without warning", async () => {
    const first = cli.start(["up", "--port", "0", "--json"]);
    await firstLine(first);
    await end(first, "SIGKILL");
    expect((await cli.run(["run", "--", "echo", "alone"])).stdout).toBe("alone\n");
    const second = cli.start(["up", "--port", "0", "--json"]);
    await firstLine(second);
    expect(await end(second, "SIGINT")).toBe(0);
  });

  it.each(["run", "exec"])(
    "that goes while a command of %s runs: one is told where that is",
    async (verb) => {
      const gateway = cli.start(["up", "--port", "0", "--json"]);
      try {
        await firstLine(gateway);
        if (verb === "exec") await cli.run(["create", "--name", "left-by-exec"]);
        const words = verb === "exec" ? ["exec", "left-by-exec"] : ["run", "--name", "left-by-run"];
        const waiting = cli.start([...words, "--", "sh", "-c", "echo begun; sleep 600"]);
        let said = "";
        waiting.stderr?.setEncoding("utf8").on("data", (text: string) => (said += text));
        const closed = once(waiting, "close");
        await firstLine(waiting);
        await end(gateway, "SIGKILL");
        expect((await closed)[0]).toBe(69);
        const name = `left-by-${verb}`;
        expect(said).toContain(`the command may go on in ${name}`);
        const [, logs = ""] = /`sandboxer (logs [^`]+)`/.exec(said) ?? [];
        expect((await cli.run(logs.split(" "))).stdout).toBe("begun\n");
        expect((await cli.run(["rm", name])).code).toBe(0);
      } finally {
        gateway.kill("SIGKILL");
      }
    },
  );
});
