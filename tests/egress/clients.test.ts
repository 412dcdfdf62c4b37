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

vi.setConfig({ testTimeout: 120_000, hookTimeout: 300_000 });

describe("EG-2 programs that know of no guard, without any setting of theirs", () => {
  let bench: Bench;
  let sandbox: Sandbox;
  let dir: string;
  beforeAll(async () => {
    bench = await openBench({}, { config: { packageHosts: { npm: ["registry.test"] } } });
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

  it("EG-19 the sets read: no push, no gist, no package and no foreign bucket goes out by them", async () => {
    for (const name of ["github.com", "api.github.com", "files.test"]) await bench.lab.name(name, [WORLD]);
    const files = { host: "files.test", methods: ["PUT"], paths: ["/ours/**"] };
    const reading = await bench.sandbox({ rules: [files], sets: ["npm", "github-read"] });
    const run = async (line: string) => {
      const { exit, stdout, stderr } = await reading.run(["sh", "-c", `cd; ${line}`], { timeoutMs: 60_000 });
      return { worked: exit.kind === "exited" && exit.code === 0, said: text(stdout) + text(stderr) };
    };
    const asked = async () =>
      (await bench.lab.look()).records.flatMap(({ kind, what }) => (kind === "request" ? [what] : []));
    const clone = await run("git clone -q https://github.com/static/project.git clone && cat clone/README");
    expect(clone, "control: reading works").toMatchObject({ worked: true });
    expect((await run("curl -sf https://registry.test/static/labpack-1.0.0.tgz -o a")).worked).toBe(true);
    expect((await run("echo x > up; curl -sf -T up https://files.test/ours/up")).worked, "and ours").toBe(
      true,
    );
    await bench.lab.clear();
    const publish =
      'mkdir -p pub && cd pub && echo \'{"name":"leak","version":"1.0.0"}\' > package.json && echo //registry.test/:_authToken=x > .npmrc && npm publish --registry https://registry.test/';
    const lines = [
      "cd clone && git -c user.name=a -c user.email=a@a commit -q --allow-empty -m x && git push -q origin HEAD:refs/heads/x",
      "cd clone && git push -q https://github.com/somebody/else.git HEAD",
      "curl -sf 'https://github.com/a/b.git/info/refs?service=git-receive-pack'",
      "curl -sf 'https://github.com/a/b.git/info/refs?service=git-upload-pack&service=git-receive-pack'",
      "curl -sf -d x https://github.com/a/b.git/git-receive-pack",
      "curl -sf -d '{}' https://api.github.com/gists",
      "curl -sf -X PATCH -d '{}' https://api.github.com/gists/1",
      publish,
      "curl -sf -T up 'https://files.test/theirs/up?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=0'",
      "curl -sf --path-as-is -T up https://files.test/ours/../theirs/up",
    ];
    for (const line of lines) expect((await run(line)).worked, line).toBe(false);
    for (const what of await asked()) expect(what).toMatch(/^(?:GET|HEAD) \S+$/);
    expect((await asked()).filter((what) => /receive-pack|theirs/.test(what))).toEqual([]);
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
