import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { CLIENTS, REACHED, tryClient } from "./lab/clients.ts";
import { WORLD } from "./lab/lab.ts";
import { makePackages } from "./lab/packages.ts";
import { type Bench, openBench, text } from "./lab/sandbox.ts";

const { describe, given } = await requires("linux-userns", "boxd", "egress-lab", "egress-clients");

vi.setConfig({ testTimeout: 90_000, hookTimeout: 300_000 });

describe("EG-2 programs that know of no guard, without any setting of theirs", () => {
  let bench: Bench;
  let sandbox: Sandbox;
  let dir: string;
  beforeAll(async () => {
    bench = await openBench();
    dir = await mkdtemp(join(tmpdir(), "sandboxer-clients-"));
    await makePackages(dir, given["egress-clients"].go);
    await bench.lab.serve(dir);
    for (const name of ["registry.test", "evil.test"]) await bench.lab.name(name, [WORLD]);
    sandbox = await bench.sandbox({ rules: [{ host: "registry.test", access: "read-only" }] });
    await sandbox.files.write("/home/user/fetch", [await readFile(join(dir, "fetch"))], { mode: 0o755 });
  });
  afterAll(async () => {
    await bench.close();
    await rm(dir, { recursive: true, force: true });
  });
  beforeEach(() => bench.lab.clear());

  it.each(Object.keys(CLIENTS))("%s reaches an allowed host and no other", async (name) => {
    expect(await tryClient(bench.lab, sandbox, name)).toEqual(REACHED);
  });

  it("EG-19 writing to an allowed host takes a rule that says so", async () => {
    const lines = [
      "curl -sf -T fetch https://registry.test/static/up",
      "curl -sf -X POST -d x https://registry.test/gists",
      "cd clone && git -c user.name=a -c user.email=a@a commit -q --allow-empty -m x && git push -q origin HEAD:refs/heads/other",
    ];
    await sandbox.run([
      "sh",
      "-c",
      "cd && rm -rf clone && git clone -q https://registry.test/static/project.git clone",
    ]);
    await bench.lab.clear();
    for (const line of lines) {
      const { exit } = await sandbox.run(["sh", "-c", `cd; ${line}`]);
      expect(exit, line).not.toMatchObject({ kind: "exited", code: 0 });
    }
    const { records } = await bench.lab.look();
    for (const { what, kind } of records) if (kind === "request") expect(what).toMatch(/^(?:GET|HEAD) /);
  });

  it("EG-15 a redirect to a host that is not allowed ends there", async () => {
    const { stdout } = await sandbox.run([
      "curl",
      "-sL",
      "-o",
      "/dev/null",
      "-w",
      "%{http_code}",
      "https://registry.test/redirect",
    ]);
    expect(text(stdout)).not.toBe("200");
    const { records } = await bench.lab.look();
    expect(records.filter(({ what }) => what.includes("evil"))).toEqual([]);
    expect(records.filter(({ kind }) => kind === "request").map(({ what }) => what)).toEqual([
      "GET /redirect",
    ]);
    const { stdout: head } = await sandbox.run(["curl", "-si", "https://registry.test/static/x"]);
    expect(text(head)).not.toMatch(/alt-svc/i);
  });
});
