import { accessSync, constants, existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Box,
  collect,
  type Extension,
  execRequestSchema,
  newRowId,
  newSandboxId,
} from "@sandboxer/contract";
import { createLocalExtension } from "@sandboxer/extensions/local";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { PLAIN_SPEC } from "../conformance/direct.ts";
import { removeEngine } from "../conformance/remove-engine.ts";
import { idMapOf, initPidOf, namespacesOf, processesIn } from "./host-view.ts";

const { describe } = await requires("linux-userns", "boxd");

const context = { installationId: newRowId("ins"), orgId: newRowId("org") };

/** Where only an operator who is root can put anything. */
const ROOTS_OWN = ["/", "/root", "/var/lib/docker", "/run"];

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

describe("the local engine, seen from the host", () => {
  let dir: string;
  let extension: Extension;
  let box: Box;
  const run = async (argv: string[], more: object = {}) => {
    const result = await collect(await box.exec(execRequestSchema.parse({ argv, ...more }), "att"));
    return { ...result, text: Buffer.from(result.stdout).toString() };
  };

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "sandboxer-security-"));
    extension = createLocalExtension({ dir });
    box = await extension.create(PLAIN_SPEC, { ...context, sandboxId: newSandboxId() });
  });
  afterAll(async () => {
    await extension.destroy(box.ref, context);
    await extension.close();
    await removeEngine(dir);
  });

  it("NS-1 has every namespace of its own", () => {
    const [inside, outside] = [namespacesOf(initPidOf(dir, box.ref)), namespacesOf("self")];
    for (const [name, link] of Object.entries(inside)) expect(link, name).not.toBe(outside[name]);
    expect(Object.keys(inside)).toHaveLength(7);
  });

  it("UM-1 never maps an id to the host's root", () => {
    const map = idMapOf(initPidOf(dir, box.ref));
    expect(map.length).toBeGreaterThan(0);
    for (const [, outside = 0] of map) expect(outside).toBeGreaterThan(0);
  });

  it("UM-2 gives no two sandboxes of a root engine the same ids", async ({ skip }) => {
    if (process.getuid?.() !== 0) skip("an ordinary user has one id to give");
    const other = await extension.create(PLAIN_SPEC, { ...context, sandboxId: newSandboxId() });
    const bases = [box, other].map((one) => idMapOf(initPidOf(dir, one.ref))[0]?.[1]);
    expect(new Set(bases).size).toBe(2);
    await extension.destroy(other.ref, context);
  });

  it("NS-2 shows nothing of the host's files", async () => {
    const canary = `canary-${newSandboxId()}`;
    const folders = [tmpdir(), homedir(), dir, ...ROOTS_OWN.filter(isWritable)];
    const places = folders.map((folder) => join(folder, canary));
    try {
      for (const place of places) await writeFile(place, "secret");
      expect(places.every(existsSync), "control: the host sees them").toBe(true);
      const found = await run(["sh", "-c", `find / -name '${canary}' 2>/dev/null; true`]);
      expect(found.text).toBe("");
      for (const place of places) expect((await run(["cat", place])).text).toBe("");
      const names = places.map((place) => `/proc/$p/root${place}`).join(" ");
      const through = `cd /proc; for p in self [0-9]*; do cat ${names} /proc/$p/cwd/${canary}; done 2>/dev/null`;
      expect((await run(["sh", "-c", through])).text).toBe("");
    } finally {
      for (const place of places) await rm(place, { force: true });
    }
  });

  it("NS-3 names no path of the host in its mount table", async () => {
    const mounts = await run(["cat", "/proc/self/mountinfo"]);
    expect(mounts.text).toContain(" / / ");
    expect(mounts.text).not.toContain(dir);
    expect(mounts.text).not.toMatch(/shared:|master:/);
  });

  it("NS-7 keeps the host's programs read-only, also for the sandbox's root", async () => {
    const users = process.getuid?.() === 0 ? ["user", "root"] : ["user"];
    for (const user of users) {
      const script = "mount -o remount,rw,bind /usr 2>/dev/null; touch /usr/planted";
      const result = await run(["sh", "-c", script], { user });
      expect(result.exit, user).not.toEqual({ kind: "exited", code: 0 });
    }
    expect(existsSync("/usr/planted")).toBe(false);
  });

  it("RL-8 leaves nothing of a sandbox behind, whatever it started", async () => {
    const doomed = await extension.create(PLAIN_SPEC, { ...context, sandboxId: newSandboxId() });
    const pid = initPidOf(dir, doomed.ref);
    const pidNamespace = namespacesOf(pid).pid as string;
    const script =
      "trap '' TERM; setsid sh -c 'trap \"\" TERM HUP; sleep 600' & (sleep 600 &) & echo up; wait";
    const process = await doomed.exec(execRequestSchema.parse({ argv: ["sh", "-c", script] }), "att");
    for await (const event of process.events) if (event.type === "stdout") break;
    expect(processesIn(pidNamespace).length, "control: they live").toBeGreaterThan(2);

    await extension.destroy(doomed.ref, context);

    expect(processesIn(pidNamespace)).toEqual([]);
    expect(readdirSync(join(dir, "boxes"))).not.toContain(doomed.ref);
    expect(readFileSync("/proc/self/mountinfo", "utf8")).not.toContain(doomed.ref);
  });
});
