import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { newSandboxId } from "@sandboxer/contract";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { findTools } from "../../packages/extensions/src/local/find-tools.ts";
import { requires } from "../capabilities/requires.ts";
import { PLAIN_SPEC } from "../conformance/direct.ts";
import { shell } from "../security/engine.ts";
import { type Lab, openLab } from "./lab.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

describe("tools of the host", () => {
  let lab: Lab;
  let place: string;
  const create = (...tools: string[]) =>
    lab.extension.create(
      { ...PLAIN_SPEC, image: { kind: "host", tools } },
      { ...lab.context, sandboxId: newSandboxId() },
    );

  beforeAll(async () => {
    lab = await openLab();
    place = await mkdtemp(join(tmpdir(), "sandboxer-tools-"));
    await chmod(place, 0o755);
    await mkdir(join(place, "home/.nvm/versions/node/v9/bin"), { recursive: true });
    await writeFile(join(place, "home/.nvm/versions/node/v9/bin/greet"), "#!/bin/sh\necho greetings\n", {
      mode: 0o755,
    });
  });
  afterAll(async () => {
    await lab?.close();
    await rm(place, { recursive: true, force: true });
  });

  it("are there under their own names, in PATH, and read-only", async () => {
    const folder = join(place, "home/.nvm/versions/node/v9");
    const box = await create(folder);
    expect((await shell(box, "greet; command -v greet")).text).toBe(`greetings\n${folder}/bin/greet\n`);
    expect((await shell(box, `sudo touch ${folder}/new`)).errors).toContain("Read-only file system");
    expect((await shell(box, `ls ${place}`)).text, "nothing beside them").toBe("home\n");
    await lab.extension.destroy(box.ref, lab.context);
  });

  it("FS-5 are nothing that holds keys, the system or a whole home", async () => {
    const alias = join(place, "alias");
    await symlink("/etc", alias);
    await mkdir(join(lab.place, "engine"), { recursive: true, mode: 0o700 });
    for (const folder of ["/etc", alias, homedir(), "/var", join(lab.place, "engine"), lab.place]) {
      await expect(create(folder), folder).rejects.toMatchObject({ code: "policy_denied" });
    }
    await expect(create("/")).rejects.toMatchObject({ code: "invalid_request" });
    await expect(create(join(place, "nothing"))).rejects.toMatchObject({ code: "invalid_request" });
  });

  it("are proposed by doctor", async () => {
    const { message } = await findTools(join(place, "home"));
    expect(message).toContain(join(place, "home/.nvm/versions/node/v9"));
    expect((await findTools(join(place, "nobody"))).message).toMatch(/^no version manager/);
    const { findings } = await lab.extension.probe();
    expect(findings.map(({ id }) => id)).toContain("local.tools");
  });
});
