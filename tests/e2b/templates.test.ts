import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@sandboxer/sdk";
import { Sandbox, Template, waitForPort } from "e2b";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { ask } from "./asking.ts";
import { type Door, openDoor } from "./door.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000, hookTimeout: 300_000 });

describe("templates of E2B's own builder", () => {
  let door: Door;
  let context: string;

  beforeAll(async () => {
    door = await openDoor();
    context = await mkdtemp(join(tmpdir(), "sandboxer-context-"));
    await writeFile(join(context, "page.html"), "from the context");
    await symlink("page.html", join(context, "link.html"));
  });
  afterAll(async () => {
    await rm(context, { recursive: true, force: true });
    await door?.close();
  });

  it("are made from steps, started, and kept as what sandboxes are made from", async () => {
    const template = Template({ fileContextPath: context })
      .fromBaseImage()
      .copy("*.html", "site")
      .setEnvs({ GREETING: "it's set" })
      .runCmd("mkdir -p made && whoami > made/by")
      .runCmd("id -un > /root/by", { user: "root" })
      .setStartCmd("cd ~/site && exec python3 -m http.server 8000", waitForPort(8_000));
    const told: string[] = [];
    const log = ({ message }: { message: string }) => void told.push(message);
    const build = await Template.build(template, "with-site:v1", {
      ...door.options,
      cpuCount: 1,
      onBuildLogs: log,
    });
    expect(build.buildId).toBeTruthy();
    expect(told.join("\n")).toContain("RUN mkdir -p made");
    const path = `/templates/with-site/builds/${build.buildId}`;
    const entries = (await ask(door, "GET", `${path}/logs`)).json.logs;
    expect(entries.map(({ message }: { message: string }) => message).join("\n")).toContain(
      "RUN mkdir -p made",
    );
    const last = await ask(door, "GET", `${path}/logs?direction=backward&limit=1&level=info`);
    expect(last.json).toEqual({ logs: entries.slice(-1) });
    expect((await ask(door, "GET", `${path}/logs?level=error`)).json).toEqual({ logs: [] });
    expect((await ask(door, "GET", `${path}/status?limit=2&logsOffset=1`)).json.logEntries).toEqual(
      entries.slice(1, 3),
    );
    expect((await ask(door, "GET", `${path}/logs?limit=101`)).json).toMatchObject({ code: 400 });
    expect(await Template.exists("with-site", door.options)).toBe(true);

    const sandbox = await Sandbox.create("with-site:v1", door.options);
    const page =
      "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8000/link.html').read().decode())";
    const ran = await sandbox.commands.run(`echo "$GREETING"; cat made/by; python3 -c "${page}"`);
    expect(ran.stdout).toBe("it's set\nuser\nfrom the context\n");
    expect(await sandbox.files.exists("/var/tmp/context", { user: "root" })).toBe(false);
    expect((await sandbox.getInfo()).cpuCount).toBe(1);
    await sandbox.kill();

    await Template.assignTags("with-site:v1", "stable", door.options);
    expect((await Template.getTags("with-site", door.options)).map(({ tag }) => tag)).toEqual([
      "v1",
      "stable",
    ]);
    await (await Sandbox.create("with-site:stable", door.options)).kill();
    await expect(Sandbox.create("with-site:other", door.options)).rejects.toThrow("not found");
  });

  it("are versions of a profile, which outlive the gateway with their tags", async () => {
    const next = Template().fromTemplate("with-site").runCmd("echo two > version");
    const { buildId } = await Template.build(next, "with-site:v2", door.options);
    await door.gateway.close();
    door = await openDoor(door.home);
    const client = createClient({ url: door.url, apiKey: door.gateway.apiKey });
    const versions = (await client.profiles.list()).filter(({ name }) => name === "with-site");
    expect(versions.map(({ version }) => version)).toEqual([1, 2]);
    const read = async (template: string) => {
      const sandbox = await Sandbox.create(template, door.options);
      const { stdout } = await sandbox.commands.run("cat made/by version 2>/dev/null; true");
      await sandbox.kill();
      return stdout;
    };
    expect(await read("with-site")).toBe("user\ntwo\n");
    expect(await read("with-site:v2")).toBe("user\ntwo\n");
    expect(await read("with-site:stable")).toBe("user\n");
    const native = await client.sandboxes.create({ profile: "with-site@1" });
    expect((await native.run(["cat", "/home/user/made/by"])).exit).toMatchObject({ code: 0 });
    await native.destroy();
    const { json } = await ask(door, "GET", "/templates/with-site?limit=1");
    expect(json).toMatchObject({
      templateID: "with-site",
      names: ["with-site"],
      public: false,
      builds: [{ buildID: buildId, status: "ready", cpuCount: expect.any(Number) }],
    });
    expect((await ask(door, "GET", "/templates/nothing")).json).toMatchObject({ code: 404 });
    expect((await ask(door, "PATCH", "/v2/templates/with-site", { public: false })).json).toEqual({
      names: ["with-site"],
    });
    expect((await ask(door, "PATCH", "/templates/with-site", { public: true })).json).toMatchObject({
      code: 400,
    });
    const all = (await ask(door, "GET", "/v2/templates")).json;
    const first = await ask(door, "GET", "/v2/templates?limit=1");
    const token = encodeURIComponent(first.headers.get("x-next-token") ?? "");
    const rest = (await ask(door, "GET", `/v2/templates?nextToken=${token}`)).json;
    expect([...first.json, ...rest]).toEqual(all);
    const told = { templateId: "with-site", buildId };
    expect(await Template.getBuildStatus(told, door.options)).toMatchObject({ status: "ready" });
    await Template.removeTags("with-site", "stable", door.options);
    await expect(Sandbox.create("with-site:stable", door.options)).rejects.toThrow("not found");
    expect(await client.store.prune({ dryRun: true })).toMatchObject({ stored: [] });
    expect(await Sandbox.deleteSnapshot("with-site", door.options)).toBe(true);
    expect(await Template.exists("with-site", door.options)).toBe(false);
  });

  it("have names that profiles cannot have", async () => {
    const name = "7_of-a-name-that-is-longer-than-any-profile-has";
    await Template.build(Template().fromBaseImage().runCmd("echo yes > said"), name, door.options);
    const sandbox = await Sandbox.create(name, door.options);
    expect(await sandbox.files.read("said")).toBe("yes\n");
    await sandbox.kill();
  });

  it("say which step failed, and leave nothing running", async () => {
    const broken = Template().fromBaseImage().runCmd("true").runCmd("echo why >&2; exit 4");
    await expect(Template.build(broken, "broken", door.options)).rejects.toThrow(/exit status 4/);
    const strange = Template().fromImage("elsewhere/image:1");
    await expect(Template.build(strange, "strange", door.options)).rejects.toThrow("is not here");
    await expect(Template.build(Template().fromBaseImage(), "base", door.options)).rejects.toThrow("profile");
    expect(await Template.exists("broken", door.options)).toBe(false);
    expect(await Sandbox.list(door.options).nextItems()).toEqual([]);
  });

  it("take each archive once, by an address of its own", async () => {
    const nobody = await fetch(`${door.url}/templates/uploads/${"x".repeat(43)}`, {
      method: "PUT",
      body: "tar",
    });
    expect(nobody.status).toBe(401);
    await nobody.body?.cancel();
  });
});
