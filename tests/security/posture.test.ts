import { chownSync, existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Box, ExecInput } from "@sandboxer/contract";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { bringProbe, type Engine, openEngine, start } from "./engine.ts";
import { hostPidOf, idMapOf, initPidOf } from "./host-view.ts";
import { findings } from "./posture/check.ts";
import { expectation, type Ids, type Role } from "./posture/expected.ts";
import { factsOf } from "./posture/facts.ts";

const { describe, given } = await requires("linux-userns", "boxd", "probe", "root", "subordinate-ids");

const THREADS = 3;
const LENT_FROM = 700_000;

/** Who runs the engine, and the ways its sandboxes come to be. An ordinary user cannot pause here. */
const MODES = {
  root: ["created", "resumed", "claimed", "restored", "with a workspace"],
  "a user with subordinate ids": ["created", "claimed", "restored", "with a workspace"],
  "a user with one id": ["created", "claimed", "restored", "with a workspace"],
} as const;
type Mode = keyof typeof MODES;

for (const mode of Object.keys(MODES) as Mode[]) {
  for (const way of MODES[mode]) {
    describe(`PO-1 CA-1 FD-1 the exact posture of every thread: ${way}, by ${mode}`, () => {
      let engine: Engine;
      let box: Box;
      let probe: string;
      let first: number;
      let ids: Ids;
      let folder: string;
      const workspace = way === "with a workspace" ? "/workspace" : undefined;

      const createOnFolder = (owner: { uid: number; gid: number } | undefined): Promise<Box> => {
        if (owner) chownSync(folder, owner.uid, owner.gid);
        const mode = "copy-on-write" as const;
        const asked = { source: folder, target: "/workspace", mode, allowSensitive: true };
        return engine.create(undefined, {}, { workspace: asked });
      };

      beforeAll(async () => {
        folder = mkdtempSync(join(tmpdir(), "sandboxer-posture-"));
        const lent = mode === "a user with subordinate ids" ? { lentFrom: LENT_FROM } : {};
        const owner = mode === "root" ? undefined : given["subordinate-ids"];
        const pool = way === "claimed" ? 1 : 0;
        engine = await openEngine({ boxdPath: given.boxd.path, pool, ...(owner && { owner }), ...lent });
        if (workspace) box = await createOnFolder(owner);
        else if (way === "restored") box = await engine.restore(await engine.create());
        else box = await (way === "claimed" ? engine.claim() : engine.create());
        if (way === "resumed") await engine.pauseAndResume(box);
        probe = await bringProbe(box, given.probe.path);
        first = initPidOf(engine.dir, box.ref);
        const isUserInside = workspace !== undefined;
        ids = owner ? { ...owner, ...lent, isUserInside } : { base: idMapOf(first)[0]?.[1] ?? 0 };
      });
      afterAll(async () => {
        await engine.close();
        rmSync(folder, { recursive: true, force: true });
      });

      /** A program with more than one thread, looked at while it waits. */
      const findingsOf = async (role: Role, request: Partial<ExecInput>) => {
        const argv = [probe, "threads", String(THREADS)];
        const program = await start(box, { argv, stdin: true, ...request });
        for await (const event of program.events) if (event.type === "stdout") break;
        if (way === "resumed") await engine.pauseAndResume(box);
        const facts = factsOf(hostPidOf(first, program.pid ?? 0));
        await program.signal("KILL");
        expect(facts.threads).toHaveLength(THREADS + 1);
        return findings(facts, expectation(role, ids, factsOf(first), workspace));
      };

      it("is that of the class it declares", () => {
        expect(engine.extension.manifest.isolation.class).toBe("container");
      });

      if (workspace) {
        it("of the first process, which may look at the workspace and at no other folder of the host", () => {
          const identity = ({ dev, ino }: { dev: number; ino: number }) => `${dev}:${ino}`;
          const layer = join(engine.dir, "boxes", box.ref);
          const ours = ["upper", "workspace/upper", "workspace/points"].map((name) => join(layer, name));
          const own = [folder, ...ours].flatMap((path) =>
            existsSync(path) ? [identity(statSync(path))] : [],
          );
          for (const [descriptor, target] of Object.entries(factsOf(first).descriptors)) {
            if (!target.endsWith("/")) continue;
            const found = statSync(`/proc/${first}/fd/${descriptor}`);
            // A disk of its own is on no device of the host's.
            const isDisk = found.dev !== statSync(engine.dir).dev && found.dev !== statSync("/").dev;
            expect(isDisk || own.includes(identity(found)), `${descriptor} leads to ${target}`).toBe(true);
          }
        });
      }

      it("CA-9 of the first process", () => {
        const facts = factsOf(first);
        expect(facts.threads).toHaveLength(1);
        expect(findings(facts, expectation("first", ids, facts, workspace))).toEqual([]);
      });

      it("of a program", async () => {
        expect(await findingsOf("user", {})).toEqual([]);
      });

      it("of a program on a terminal", async () => {
        expect(await findingsOf("terminal", { pty: { cols: 80, rows: 24 } })).toEqual([]);
      });

      it("of a program after a hundred others", async () => {
        for (let count = 0; count < 100; count++) {
          const { events } = await start(box, { argv: ["true"] });
          for await (const _ of events);
        }
        expect(await findingsOf("user", {})).toEqual([]);
        const facts = factsOf(first);
        expect(findings(facts, expectation("first", ids, facts, workspace))).toEqual([]);
      });

      if (mode === "a user with one id") {
        it("gives no rights of another user where there is one id", async () => {
          await expect(start(box, { argv: ["true"], user: "root" })).rejects.toMatchObject({
            code: "no_such_user",
          });
        });
      } else {
        it("of a program of the sandbox's root", async () => {
          expect(await findingsOf("root", { user: "root" })).toEqual([]);
        });
      }
    });
  }
}
