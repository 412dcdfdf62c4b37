import { readdirSync, readFileSync, statSync } from "node:fs";
import { chown, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Box, newSandboxId } from "@sandboxer/contract";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { PLAIN_SPEC } from "../conformance/direct.ts";
import { bringProbe, type Engine, openEngine, run, shell, start } from "./engine.ts";
import { hostPidOf, idMapOf, initPidOf } from "./host-view.ts";
import { CALLS } from "./verdicts.ts";

const { describe, given } = await requires("linux-userns", "boxd", "probe", "root", "subordinate-ids");

const LENT_FROM = 700_000;
const EINVAL = "22\n";

const recordOf = (engine: Engine, box: Box): Record<string, unknown> =>
  JSON.parse(readFileSync(join(engine.dir, "boxes", box.ref, "box.json"), "utf8"));

describe("users of an ordinary user's sandboxes, with subordinate ids", () => {
  const owner = given["subordinate-ids"] ?? { uid: 0, gid: 0 };
  let engine: Engine;
  let box: Box;
  let first: number;

  beforeAll(async () => {
    engine = await openEngine({ boxdPath: given.boxd.path, owner, lentFrom: LENT_FROM });
    box = await engine.create();
    first = initPidOf(engine.dir, box.ref);
  });
  afterAll(() => engine.close());

  it("UM-1 makes the sandbox's root the ordinary user outside, and all others lent ids", async () => {
    for (const file of ["uid_map", "gid_map"]) {
      const map = readFileSync(`/proc/${first}/${file}`, "utf8").trim().replaceAll(/\s+/g, " ");
      expect(map).toBe(`0 ${owner.uid} 1 1 ${LENT_FROM} 65535`);
    }
    await shell(box, "touch /by-root /by-other && chown nobody:user /by-other", { user: "root" });
    const [byRoot, byOther] = ["by-root", "by-other"].map((name) => statSync(`/proc/${first}/root/${name}`));
    expect([byRoot?.uid, byRoot?.gid]).toEqual([owner.uid, owner.gid]);
    expect([byOther?.uid, byOther?.gid]).toEqual([LENT_FROM + 65_533, LENT_FROM + 999]);
  });

  it("UM-2 is one range for all sandboxes of the user, and each records it", async () => {
    const other = await engine.create();
    expect(idMapOf(initPidOf(engine.dir, other.ref))).toEqual(idMapOf(first));
    expect(recordOf(engine, other)).toMatchObject({ ids: "shared" });
    expect(other.bestEffort.filter((sentence) => sentence.startsWith("users"))).toEqual([]);
    await engine.destroy(other);
  });

  it("UM-3 becomes no id that is not lent", async () => {
    const probe = await bringProbe(box, given.probe.path);
    const setuid = (id: number) =>
      run(box, [probe, "call", String(CALLS.setuid), String(id)], { user: "root" });
    for (const id of [65_536, LENT_FROM, owner.uid + 65_536, 4_294_967_295]) {
      expect((await setuid(id)).text, String(id)).toBe(EINVAL);
    }
    expect((await setuid(65_535)).text, "control").toBe("0\n");
    const asUser = await run(box, [probe, "call", String(CALLS.setuid), "0"]);
    expect(asUser.text, "as user").toBe("1\n");
  });

  it("UM-4 runs programs and touches files as any user of its passwd", async () => {
    for (const [user, uid] of Object.entries({ root: 0, user: 1000, nobody: 65534, "0": 0 })) {
      expect((await run(box, ["id", "-u"], { user, cwd: "/" })).text, user).toBe(`${uid}\n`);
    }
    for (const user of ["0x0", "+0", " root", "root:", "", "99999999999"]) {
      await expect(start(box, { argv: ["id"], user }), user).rejects.toMatchObject({ code: "no_such_user" });
    }
    await box.files.write("/root/by-root", [Buffer.from("x")], { user: "root" });
    await expect(box.files.write("/root/by-user", [Buffer.from("x")])).rejects.toMatchObject({
      code: "permission_denied",
    });
    expect((await shell(box, "echo hi > ~/mine && cat ~/mine")).text).toBe("hi\n");
  });

  it("UM-5 has no group of the host's", async () => {
    const program = await start(box, { argv: ["sleep", "60"] });
    const status = readFileSync(`/proc/${hostPidOf(first, program.pid ?? 0)}/status`, "utf8");
    expect(/^Groups:\s*(.*?)\s*$/m.exec(status)?.[1]).toBe(String(LENT_FROM + 999));
    await program.signal("KILL");
  });

  it("gives a folder of the user's to the sandbox's user, and root inside is a lent id", async () => {
    const place = await mkdtemp(join(tmpdir(), "sandboxer-lent-"));
    try {
      await writeFile(join(place, "file"), "one\n", { mode: 0o600 });
      for (const path of [place, join(place, "file")]) await chown(path, owner.uid, owner.gid);
      const workspace = {
        source: place,
        target: "/workspace",
        mode: "copy-on-write",
        allowSensitive: false,
      } as const;
      const context = { installationId: "any", orgId: "any", sandboxId: newSandboxId() };
      // Longer than the clock by which the kernel stamps files stands still.
      await new Promise((resolve) => setTimeout(resolve, 15));
      const working = await engine.extension.create({ ...PLAIN_SPEC, workspace }, context);
      expect((await shell(working, "echo two >> file && id -u && cat file")).text).toBe("1000\none\ntwo\n");
      expect(recordOf(engine, working)).toMatchObject({ ids: "shared" });
      expect((await run(working, ["id", "-u"], { user: "nobody", cwd: "/" })).text).toBe("65534\n");
      const map = `0 ${LENT_FROM} 1000 1000 ${owner.uid} 1 1001 ${LENT_FROM + 1000} 64535`;
      const seen = readFileSync(`/proc/${initPidOf(engine.dir, working.ref)}/uid_map`, "utf8");
      expect(seen.trim().replaceAll(/\s+/g, " ")).toBe(map);
      expect(await working.workspace?.apply()).toMatchObject({ applied: 1, paths: ["file"] });
      expect(statSync(join(place, "file")).uid).toBe(owner.uid);
      await engine.destroy(working);
    } finally {
      await rm(place, { recursive: true });
    }
  });

  it("leaves nothing behind, whoever inside it belonged to", async () => {
    const doomed = await engine.create();
    const script = "mkdir -p /var/d/e && touch /var/d/e/f && chown -R nobody /var/d && chmod -R 700 /var/d";
    expect((await shell(doomed, script, { user: "root" })).exit).toEqual({ kind: "exited", code: 0 });
    await engine.destroy(doomed);
    const trash = join(engine.dir, "trash");
    await expect.poll(() => readdirSync(trash)).toEqual([]);
    expect(readdirSync(join(engine.dir, "boxes"))).toEqual([box.ref]);
  });

  it("is the same after its supervisor was killed", async () => {
    const hold = Number(/^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${first}/status`, "utf8"))?.[1]);
    process.kill(hold, "SIGKILL");
    const installationId = "any";
    const refs = async () => (await engine.extension.list({ installationId })).map(({ ref }) => ref);
    await expect.poll(refs).toEqual([box.ref]);
    const attached = await engine.extension.attach(box.ref, { installationId });
    expect((await run(attached, ["id", "-u"], { user: "nobody", cwd: "/" })).text).toBe("65534\n");
    attached.close();
    const fresh = await engine.create();
    expect(recordOf(engine, fresh)).toMatchObject({ ids: "shared" });
    await engine.destroy(fresh);
  });
});

describe("the users that a sandbox has", () => {
  it("are recorded, with the reason where there is one alone", async () => {
    const engine = await openEngine({ boxdPath: given.boxd.path, owner: given["subordinate-ids"] });
    try {
      const box = await engine.create();
      expect(recordOf(engine, box)).toMatchObject({ ids: "single" });
      expect(box.bestEffort).toContain("users: only one, because /etc/subuid gives this user no 65535 ids");
      await expect(start(box, { argv: ["id"], user: "root" })).rejects.toMatchObject({
        code: "no_such_user",
        message: expect.stringContaining("single user id"),
      });
    } finally {
      await engine.close();
    }
  });
});
