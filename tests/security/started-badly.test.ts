import { execFileSync, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { chmod, mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import type { Sandbox } from "@sandboxer/sdk";
import { expect, it, onTestFinished, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { cliOf } from "../e2e/cli-process.ts";
import { type GatewayProcess, ready } from "../faults/gateway-process.ts";
import { expectNothingLeft, makeHome } from "../faults/home.ts";
import { processesOf } from "../faults/processes.ts";
import { withFolder } from "./engine.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

/** All that anybody might look for by its name. */
const PROGRAMS =
  "git tar node npm npx sandboxer boxd diff patch docker runc runsc mke2fs mkfs.ext4 mkfs.btrfs mount umount newuidmap newgidmap sh bash env id getent uname ip nft modprobe losetup ldd python3 ssh gzip zstd sudo cargo".split(
    " ",
  );

const openIn = (pid: number): string[] =>
  readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      return [];
    }
  });

const sh = async (sandbox: Sandbox, script: string) =>
  new TextDecoder().decode((await sandbox.run(["sh", "-c", script])).stdout);

const over = async ({ client, end }: GatewayProcess, home: string) => {
  for await (const one of client.sandboxes.all({ states: ["running", "paused"] })) await one.destroy();
  for (const { id } of await client.snapshots.list()) await client.snapshots.delete(id);
  expect(await end("SIGTERM")).toBe(0);
  await expectNothingLeft(home);
};

describe("a gateway that is started badly", () => {
  it("FD-3 hands on none of the folders, files and sockets that it was started with", async () => {
    const home = makeHome(onTestFinished);
    const listener = createServer().listen(0, "127.0.0.1");
    onTestFinished(() => void listener.close());
    await new Promise((resolve) => listener.once("listening", resolve));
    const { port } = listener.address() as { port: number };
    await withFolder(async (folder) => {
      await mkdir(join(folder, "directory"));
      await writeFile(join(folder, "some.db"), "canary");
      // Low ones, and some with a gap before them.
      const numbers = Array.from({ length: 20 }, (_, at) => (at < 10 ? 3 + at : 60 + at));
      const kinds = [`<${folder}/directory`, `<>${folder}/some.db`, `<>/dev/tcp/127.0.0.1/${port}`];
      const lines = numbers.map((fd, at) => `exec ${fd}${kinds[at % kinds.length]}`);
      const cli = cliOf(home);
      const script = [...lines, `exec ${cli.commandLine(["up", "--port", "0", "--json"])}`].join("\n");
      const gateway = await ready(
        spawn("bash", ["-c", script], { env: cli.environment, stdio: ["ignore", "pipe", "ignore"] }),
      );
      const ofOurs = (pid: number) => openIn(pid).filter((target) => target.startsWith(folder));
      expect(ofOurs(gateway.pid).length, "control: it has them").toBeGreaterThan(10);
      const sockets = openIn(gateway.pid).filter((target) => target.startsWith("socket:"));
      const sandbox = await gateway.client.sandboxes.create();
      const process = await sandbox.exec({ argv: ["sleep", "60"] });
      const others = processesOf(home).filter((pid) => pid !== gateway.pid);
      expect(others.length, "control: hold, the sandbox and others").toBeGreaterThan(2);
      for (const pid of others) {
        expect(ofOurs(pid), readFileSync(`/proc/${pid}/cmdline`, "utf8")).toEqual([]);
        expect(openIn(pid).filter((target) => sockets.includes(target))).toEqual([]);
      }
      const found = await sh(
        sandbox,
        "cat /proc/*/fd/[3-9]* 2>/dev/null; ls -l /proc/*/fd; ls /proc/self/fd",
      );
      expect(found).not.toContain(folder);
      expect(found).not.toContain("canary");
      expect(found, "its three, and the listing's own").toMatch(/\n0\n1\n2\n3\n$/);
      await process.signal("KILL");
      process.detach();
      await over(gateway, home);
    });
  });

  it("FS-8 runs nothing of the project that it is started in, found by no name", async () => {
    const home = makeHome(onTestFinished);
    await withFolder(async (folder) => {
      const [project, ran] = [join(folder, "project"), join(folder, "ran")];
      await mkdir(join(project, "node_modules/.bin"), { recursive: true });
      await mkdir(join(project, ".git/hooks"), { recursive: true });
      await mkdir(ran);
      for (const path of [folder, project]) await chmod(path, 0o755);
      const plant = (path: string, name: string) =>
        writeFile(path, `#!/bin/sh\n/bin/touch ${join(ran, name)}\nexit 1\n`, { mode: 0o755 });
      for (const name of PROGRAMS) {
        for (const place of [".", "node_modules/.bin"]) await plant(join(project, place, name), name);
      }
      for (const hook of ["post-checkout", "pre-commit", "fsmonitor"]) {
        await plant(join(project, ".git/hooks", hook), hook);
      }
      await writeFile(join(project, ".git/config"), "[core]\n\tfsmonitor = .git/hooks/fsmonitor\n");
      await writeFile(
        join(project, ".npmrc"),
        "script-shell=./sh\ngit=./git\nnode-options=--require ./own.cjs\n",
      );
      await writeFile(
        join(project, "own.cjs"),
        `require("node:fs").writeFileSync(${JSON.stringify(join(ran, "own.cjs"))}, "")`,
      );
      await symlink(project, join(folder, "link"));
      const PATH = [".", "node_modules/.bin", join(folder, "link"), process.env.PATH].join(":");
      const cli = cliOf(home, { PATH });
      const directory = process.cwd();
      process.chdir(project);
      try {
        const gateway = await ready(cli.start(["up", "--port", "0", "--json"]));
        const at = { SANDBOXER_URL: gateway.url, SANDBOXER_API_KEY: gateway.apiKey };
        const { run } = cliOf(home, { PATH, ...at });
        const told: string[] = [];
        for (const line of [
          "doctor",
          "create --name work --persistent -w .",
          "exec work -- /bin/sh -c echo>>new",
          "diff work",
          "diff work --stat",
          "snapshot work --name kept",
          "snapshots export kept ../kept.tar",
          "fork work",
          "apply work",
          "rollback work",
          "stop work",
          "start work",
          "create --name copied -w . --access mirror",
          "exec copied -- /bin/sh -c echo>>other",
          "store",
          "images ls",
        ]) {
          const { code, stderr } = await run(line.split(" "));
          told.push(`${line}: ${code}${code ? ` ${stderr}` : ""}`);
        }
        expect(told.filter((one) => !/: 0$/.test(one))).toEqual([]);
        expect(existsSync(join(project, "new")), "control: it worked on that folder").toBe(true);
        await over(gateway, home);
        expect(await readdir(ran)).toEqual([]);
        for (const name of ["git", "tar"]) {
          expect(() => execFileSync(name, ["--version"], { env: { PATH } })).toThrow();
        }
        expect(await readdir(ran), "control: who looks by name finds them").toEqual(["git", "tar"]);
      } finally {
        process.chdir(directory);
      }
    });
  });
});
