import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { collect, type Principal, SandboxerError } from "@sandboxer/contract";
import { type Core, createCore, createRootKey, openSqliteStore } from "@sandboxer/core";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { type Engine, openEngine } from "../security/engine.ts";

const { describe, given } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 60_000 });

describe("an apply that somebody has to allow", () => {
  const folder = mkdtempSync(join(tmpdir(), "sandboxer-apply-"));
  const project = mkdtempSync(join(tmpdir(), "sandboxer-project-"));
  const closing: (() => Promise<void>)[] = [];
  let engine: Engine;
  let core: Core;
  let root: Principal;
  let agent: Principal;

  beforeAll(async () => {
    engine = await openEngine({ boxdPath: given.boxd.path });
    const store = openSqliteStore(join(folder, "store.db"));
    core = await createCore({ store, extensions: [engine.extension] });
    closing.push(
      () => core.close(),
      () => store.close(),
    );
    root = (await createRootKey(store)).principal;
    agent = await core.authenticate((await core.createKey(root, { kind: "agent" })).apiKey);
  });
  afterAll(async () => {
    await engine.close();
    for (const close of closing) await close();
    for (const one of [folder, project]) rmSync(one, { recursive: true });
  });

  const waiting = async (work: Promise<unknown>) => {
    const error = SandboxerError.from(
      await work.then(
        () => "it passed",
        (thrown) => thrown,
      ),
    );
    expect(error.code).toBe("approval_required");
    return String(error.details.approvalId);
  };

  it.each([
    ["text", "good", "evil"],
    ["bytes that no patch shows", "\\0good", "\\0evil"],
  ])("is for the changes that were there when it was asked, and no later ones: %s", async (_, good, evil) => {
    writeFileSync(join(project, "file"), "as it was\n");
    const { id } = await core.create(agent, {
      workspace: { source: project },
      approvals: ["workspace.apply"],
    });
    const write = async (text: string) => {
      const argv = ["sh", "-c", `printf '${text}' > file`];
      await collect(await core.exec(agent, id, { argv }));
    };
    const apply = () => core.apply(agent, id);
    await write(good);
    const asked = await waiting(apply());
    expect(await waiting(apply()), "the same question").toBe(asked);
    expect(await core.getApproval(root, asked)).toMatchObject({
      action: {
        operation: "workspace.apply",
        said: { changes: 1, digest: expect.stringMatching(/^[0-9a-f]{64}$/) },
      },
    });
    await core.decideApproval(root, asked, { decision: "approve" });
    // As long as what was looked at, and something else.
    await write(evil);
    expect(await waiting(apply()), "another question").not.toBe(asked);
    expect(readFileSync(join(project, "file"), "utf8"), "nothing came of it").toBe("as it was\n");
    await write(good);
    expect(await apply()).toMatchObject({ applied: 1, paths: ["file"] });
    expect(readFileSync(join(project, "file"), "latin1")).toBe(good.replace("\\0", "\0"));
    await write(evil);
    await waiting(apply());
    await write(good);
    expect(await waiting(apply()), "a yes is used up").not.toBe(asked);
    await core.destroy(agent, id);
  });

  it("one yes is for one, however many ask at once", async () => {
    const { id } = await core.create(agent, { approvals: ["sandbox.exec"] });
    const run = () => core.exec(agent, id, { argv: ["true"] });
    const asked = await waiting(run());
    await core.decideApproval(root, asked, { decision: "approve" });
    const all = await Promise.allSettled(Array.from({ length: 20 }, run));
    expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    await core.destroy(agent, id);
  });

  it("is not gone around by a workspace that brings things back by itself", async () => {
    await core.publishProfile(root, { schema: 1, name: "asked", approvals: ["workspace.apply"] });
    for (const mode of ["mirror", "read-write"] as const) {
      const made = core.create(agent, { profile: "asked", workspace: { source: project, mode } });
      await expect(made).rejects.toMatchObject({
        code: "policy_denied",
        details: { rule: "profile.approvals" },
      });
    }
    const plain = { source: project, mode: "copy-on-write" as const };
    const { id } = await core.create(agent, { profile: "asked", workspace: plain });
    await core.destroy(agent, id);
  });
});
