import { mkdir, mkdtemp, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Snapshot } from "@sandboxer/contract";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "../conformance/remove-engine.ts";
import { cliOf } from "./cli-process.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

describe("snapshots and forks from the command line", () => {
  let place: string;
  let here: ReturnType<typeof cliOf>;
  let there: ReturnType<typeof cliOf>;
  const said = async (cli: ReturnType<typeof cliOf>, ...args: string[]) => {
    const { code, stdout, stderr } = await cli.run(args);
    expect({ code, stderr }, args.join(" ")).toEqual({ code: 0, stderr: "" });
    return stdout.trim();
  };
  const sh = (cli: ReturnType<typeof cliOf>, name: string, script: string) =>
    said(cli, "exec", name, "--", "sh", "-c", script);

  beforeAll(async () => {
    place = await mkdtemp(join(tmpdir(), "sandboxer-snapshots-"));
    here = cliOf(join(place, "here"));
    there = cliOf(join(place, "there"));
    await said(here, "create", "--name", "source");
    await sh(
      here,
      "source",
      "mkdir -p ~/deep; echo one > ~/deep/file; ln -s deep/file ~/link; chmod 700 ~/deep",
    );
    await said(here, "snapshot", "source", "--name", "base", "-l", "of=tests");
  }, 300_000);
  afterAll(async () => {
    for (const name of ["here", "there"]) await removeEngine(join(place, name, "engine"));
    await removeEngine(join(place, "none"), place);
  }, 300_000);

  it("restores the files, and each goes its own way", async () => {
    await said(here, "restore", "base", "--name", "copy");
    const again = JSON.parse(await said(here, "restore", "base", "--ttl", "5m", "--json"));
    expect(again).toMatchObject({ state: "running", spec: { ttlMs: 300_000 } });
    await said(here, "rm", again.id);
    expect(await sh(here, "copy", "cat ~/link; stat -c '%a %U' ~/deep")).toBe("one\n700 user");
    await sh(here, "copy", "echo two > ~/deep/file");
    expect(await sh(here, "source", "cat ~/deep/file")).toBe("one");
    const [snapshot] = JSON.parse(await said(here, "snapshots", "ls", "--json"));
    expect(snapshot).toMatchObject({ name: "base", labels: { of: "tests" }, image: { kind: "host" } });
    await said(here, "snapshot", "copy", "--name", "child");
    const child = JSON.parse(await said(here, "snapshots", "ls", "--json")).find(
      ({ name }: { name: string }) => name === "child",
    );
    expect(child.parentId).toBe(snapshot.id);
    const labelled = await said(here, "snapshots", "ls", "-l", "of=tests");
    expect(labelled).toMatch(/^ID .* PARENT .* LABELS\nsnp_\S+ +base .* of=tests$/);
    expect(await said(here, "snapshots", "ls", "-l", "of=tests", "-l", "other=1", "--json")).toBe("[]");
    expect((await here.run(["snapshot", "copy", "--name", "child"])).stderr).toContain(
      "a snapshot named child",
    );
    await said(here, "snapshots", "rm", "child");
    expect((await here.run(["create", "--from", "child"])).stderr).toContain("no snapshot child");
  });

  it("forks several at once, with the changes of a project", async () => {
    const project = join(place, "project");
    await mkdir(project);
    await writeFile(join(project, "file"), "one\n");
    await sleep(15);
    await said(
      here,
      "run",
      "--name",
      "work",
      "-w",
      project,
      "--",
      "sh",
      "-c",
      "echo two >> file; echo x > ~/own",
    );
    const ids = (await said(here, "fork", "work", "-n", "3")).split("\n");
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) {
      expect(await sh(here, id, "cat file ~/own")).toBe("one\ntwo\nx");
      expect(await said(here, "diff", id, "--stat")).toBe("M  file  (+1 -0)");
    }
    const [first = "", second = ""] = ids;
    await said(here, "rollback", first);
    expect(await said(here, "diff", first)).toBe("");
    expect(await said(here, "apply", second)).toBe("file");
    expect(await readFile(join(project, "file"), "utf8")).toBe("one\ntwo\n");
    expect(await said(here, "snapshots", "ls", "--json")).not.toContain("work");
  });

  it("goes back to no sandbox that would leave out the work on a project", async () => {
    const project = join(place, "worked-on");
    await mkdir(project);
    await said(here, "create", "--name", "worker", "-w", project);
    await said(here, "snapshot", "worker", "--name", "untouched");
    await sh(here, "worker", "echo work > /workspace/file");
    await said(here, "snapshot", "worker", "--name", "worked");
    const before = await said(here, "ls", "-q", "--all");
    const ways = [
      ["restore", "worked"],
      ["create", "--from", "worked"],
      ["create", "--from", "worked", "-w", project, "--access", "read-only"],
      ["route", "explain", "--from", "worked"],
    ];
    for (const way of ways) {
      const { stderr } = await here.run([...way, "--json"]);
      expect(JSON.parse(stderr || "{}").error, way.join(" ")).toMatchObject({
        code: "invalid_request",
        message: expect.stringContaining("worked on"),
        hint: expect.stringContaining("-w"),
      });
    }
    expect(await said(here, "ls", "-q", "--all"), "nothing was begun").toBe(before);
    await said(here, "route", "explain", "--from", "worked", "-w", project);
    const again = await said(here, "restore", "worked", "-w", project);
    expect(await said(here, "diff", again, "--stat")).toBe("A  file  (+1 -0)");
    const plain = await said(here, "restore", "untouched");
    expect(await sh(here, plain, "echo here"), "control: nothing would be lost").toBe("here");
    await said(here, "rm", "worker", again, plain);
  });

  it("gives forks names, all or none, and asked again with one key they are the same", async () => {
    const fork = ["fork", "source", "--names", "left,right", "--idempotency-key", "pair"];
    const ids = await said(here, ...fork);
    expect(await said(here, ...fork)).toBe(ids);
    expect(await sh(here, "right", "cat ~/deep/file")).toBe("one");
    const taken = await here.run(["fork", "source", "--names", "third,left", "--json"]);
    expect(JSON.parse(taken.stderr).error).toMatchObject({ code: "conflict" });
    expect((await here.run(["exec", "third", "--", "true"])).code, "none of them").toBe(66);
    const wrong = await here.run(["fork", "source", "-n", "3", "--names", "a,b", "--json"]);
    expect(JSON.parse(wrong.stderr).error).toMatchObject({ code: "invalid_request" });
    const keep = ["snapshot", "source", "--idempotency-key", "kept"];
    expect(await said(here, ...keep)).toBe(await said(here, ...keep));
    await said(here, "rm", "left", "right");
  });

  it("keeps of those without a name so many, each for so long, as its sandbox was made to", async () => {
    await said(here, "create", "--name", "tidy", "--retain", "1", "--retain-for", "2h");
    const [first, second] = [await said(here, "snapshot", "tidy"), await said(here, "snapshot", "tidy")];
    const left: Snapshot[] = JSON.parse(await said(here, "snapshots", "ls", "--json"));
    const ids = left.map(({ id }) => id);
    expect([ids.includes(first), ids.includes(second)]).toEqual([false, true]);
    const kept = left.find(({ id }) => id === second);
    expect((kept?.expiresAtMs ?? 0) - (kept?.createdAtMs ?? 0)).toBe(7_200_000);
    await said(here, "rm", "tidy");
  });

  it("exports to another home, where it boots once its key is trusted", async () => {
    const file = join(place, "base.tar");
    await said(here, "snapshots", "export", "base", file);
    const before = await stat(file);
    const over = await here.run(["snapshots", "export", "base", file, "--json"]);
    expect(JSON.parse(over.stderr).error).toMatchObject({
      code: "path_exists",
      hint: expect.stringContaining("--force"),
    });
    expect((await stat(file)).ino, "left as it was").toBe(before.ino);
    await said(here, "snapshots", "export", "base", file, "--force");
    expect((await stat(file)).ino).not.toBe(before.ino);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const refused = await there.run(["snapshots", "import", file, "--json"]);
    const { error } = JSON.parse(refused.stderr);
    expect(error).toMatchObject({
      code: "policy_denied",
      details: { signer: expect.stringMatching(/^sha256:/) },
    });
    await said(there, "snapshots", "import", file, "--trust", error.details.signer, "--name", "taken");
    const [taken] = JSON.parse(await said(there, "snapshots", "ls", "-l", "of=tests", "--json"));
    expect(taken, "its labels came along").toMatchObject({ name: "taken", labels: { of: "tests" } });
    await said(there, "create", "--name", "elsewhere", "--from", "taken");
    expect(await sh(there, "elsewhere", "cat ~/link")).toBe("one");
    // Its own is trusted without a word.
    await said(here, "snapshots", "import", file, "--name", "again");
  });
});
