import { CommandExitError, Sandbox, TimeoutError } from "e2b";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { type Door, openDoor } from "./door.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000, hookTimeout: 300_000 });

describe("E2B's own client, with commands", () => {
  let door: Door;
  let sandbox: Sandbox;

  beforeAll(async () => {
    door = await openDoor();
    sandbox = await Sandbox.create("base", door.options);
  });
  afterAll(async () => {
    await sandbox?.kill();
    await door?.close();
  });

  it("runs them as a user, in a folder, with variables", async () => {
    const ran = await sandbox.commands.run("id -un; pwd; echo $A >&2", {
      user: "root",
      cwd: "/tmp",
      envs: { A: "b" },
    });
    expect(ran).toMatchObject({ exitCode: 0, stdout: "root\n/tmp\n", stderr: "b\n" });
    await expect(sandbox.commands.run("exit 7")).rejects.toMatchObject({
      name: CommandExitError.name,
      exitCode: 7,
    });
    await expect(sandbox.commands.run("true", { cwd: "/no/such" })).rejects.toThrow(
      "cwd '/no/such' does not exist",
    );
    await expect(sandbox.commands.run("true", { user: "nobody-here" })).rejects.toThrow("invalid username");
  });

  it("streams, writes and ends standard input, and lists what runs", async () => {
    const seen: string[] = [];
    const cat = await sandbox.commands.run("cat; echo over", {
      background: true,
      stdin: true,
      onStdout: (text) => void seen.push(text),
    });
    expect((await sandbox.commands.list()).map(({ pid }) => pid)).toContain(cat.pid);
    await sandbox.commands.sendStdin(cat.pid, "zwölf\n");
    await expect.poll(() => seen.join("")).toBe("zwölf\n");
    await cat.closeStdin();
    expect((await cat.wait()).stdout).toBe("zwölf\nover\n");
    expect(await sandbox.commands.kill(cat.pid)).toBe(false);
  });

  it("takes no input for what does not read any", async () => {
    const deaf = await sandbox.commands.run("sleep 600", { background: true });
    await expect(sandbox.commands.sendStdin(deaf.pid, "x")).rejects.toThrow("without stdin");
    await expect(sandbox.pty.sendInput(deaf.pid, new Uint8Array([1]))).rejects.toThrow("without pty");
    await expect(sandbox.commands.closeStdin(deaf.pid)).rejects.toThrow("without stdin");
    expect(await deaf.kill()).toBe(true);
  });

  it("goes on when its listener leaves, and is found again", async () => {
    const first = await sandbox.commands.run("read x; echo heard $x", { background: true, stdin: true });
    await first.disconnect();
    const again = await sandbox.commands.connect(first.pid);
    await sandbox.commands.sendStdin(first.pid, "you\n");
    expect((await again.wait()).stdout).toBe("heard you\n");
  });

  it("ends what takes longer than it was given, and what is killed", async () => {
    const slow = sandbox.commands.run("echo $$ > pid; exec sleep 600", { timeoutMs: 1_500 });
    await expect(slow).rejects.toThrow(TimeoutError);
    // The client gives up by itself; the process ends when the server hears of that.
    await vi.waitFor(
      () => expect(sandbox.commands.run("kill -0 $(cat pid)")).rejects.toMatchObject({ exitCode: 1 }),
      { timeout: 60_000, interval: 100 },
    );
    const other = await sandbox.commands.run("sleep 600", { background: true });
    expect(await other.kill()).toBe(true);
    await expect(other.wait()).rejects.toMatchObject({ exitCode: -1, error: "signal: killed" });
  });

  it("has terminals that can be resized and written to", async () => {
    let shown = "";
    const terminal = await sandbox.pty.create({
      cols: 80,
      rows: 24,
      onData: (data) => {
        shown += new TextDecoder().decode(data);
      },
    });
    await sandbox.pty.resize(terminal.pid, { cols: 101, rows: 31 });
    await sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode("stty size; exit 3\n"));
    await expect(terminal.wait()).rejects.toMatchObject({ exitCode: 3 });
    expect(shown).toContain("31 101");
  });

  it("learns that the sandbox was killed while it listened", async () => {
    const own = await Sandbox.create("base", door.options);
    const running = own.commands.run("sleep 600", { timeoutMs: 0 });
    const ended = expect(running).rejects.toThrow(/sandbox/i);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await own.kill();
    await ended;
  });

  it("carries a lot of output whole", async () => {
    const { stdout } = await sandbox.commands.run("seq 1 200000");
    expect(stdout.length).toBe(1_288_895);
    expect(stdout.endsWith("199999\n200000\n")).toBe(true);
  });
});
