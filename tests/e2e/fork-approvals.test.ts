import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { collect, type Principal, SandboxerError } from "@sandboxer/contract";
import { type Core, createCore, createRootKey, openSqliteStore } from "@sandboxer/core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { type Engine, openEngine } from "../security/engine.ts";

const { describe, given } = await requires("linux-userns", "boxd");

describe("a fork that somebody has to allow", () => {
  const folder = mkdtempSync(join(tmpdir(), "sandboxer-fork-"));
  const shelf = join(folder, "snapshots");
  const closing: (() => Promise<void>)[] = [];
  let engine: Engine;
  let core: Core;
  let root: Principal;
  let agent: Principal;

  beforeAll(async () => {
    engine = await openEngine({ boxdPath: given.boxd.path });
    const store = openSqliteStore(join(folder, "store.db"));
    const { privateKey } = generateKeyPairSync("ed25519");
    const snapshots = { dir: shelf, privateKey };
    core = await createCore({ store, extensions: [engine.extension], snapshots });
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
    rmSync(folder, { recursive: true });
  });

  it.each(["sandbox.snapshot", "sandbox.create"] as const)(
    "asks once where %s is marked, takes nothing before, and the yes fits the next try",
    async (operation) => {
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
      const approve = (id: string) => core.decideApproval(root, id, { decision: "approve" });
      const create = () => core.create(agent, { approvals: [operation] });
      if (operation === "sandbox.create") await approve(await waiting(create()));
      const { id } = await create();
      await collect(await core.exec(agent, id, { argv: ["sh", "-c", "echo one > ~/file"] }));
      const kept = () => (readdirSync(folder).includes("snapshots") ? readdirSync(shelf) : []);

      const fork = () => core.fork(agent, id, { names: ["left", "right"] });
      const asked = await waiting(fork());
      expect(await waiting(fork()), "the same question").toBe(asked);
      expect(kept()).toEqual([]);
      expect(await core.getApproval(root, asked)).toMatchObject({
        action: { operation, said: { verb: "fork", count: 2, names: ["left", "right"] } },
      });
      await approve(asked);
      const other = await waiting(core.fork(agent, id, { count: 3 }));
      expect(other, "another fork is another question").not.toBe(asked);
      const made = await fork();
      expect(made.map(({ name }) => name)).toEqual(["left", "right"]);
      for (const one of made) {
        const { stdout } = await collect(
          await core.exec(agent, one.id, { argv: ["sh", "-c", "cat ~/file"] }),
        );
        expect(Buffer.from(stdout).toString()).toBe("one\n");
      }
      expect(kept(), "each has its own copy").toEqual([]);
      expect(await waiting(fork()), "a yes is used up").not.toBe(asked);
      for (const one of [...made, { id }]) await core.destroy(agent, one.id);
    },
    60_000,
  );
});
