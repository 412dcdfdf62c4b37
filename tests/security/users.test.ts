import { readFileSync, statSync } from "node:fs";
import type { Box } from "@sandboxer/contract";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { bringProbe, type Engine, openEngine, run, shell, start } from "./engine.ts";
import { hostPidOf, idMapOf, initPidOf } from "./host-view.ts";
import { CALLS } from "./verdicts.ts";

const { describe, given } = await requires("linux-userns", "boxd", "probe", "root");

const EINVAL = "22\n";
const FIRST_SUBORDINATE = 100_000;

describe("users of a root engine's sandboxes", () => {
  let engine: Engine;
  let box: Box;
  let probe: string;

  beforeAll(async () => {
    engine = await openEngine({ boxdPath: given.boxd.path });
    box = await engine.create();
    probe = await bringProbe(box, given.probe.path);
  });
  afterAll(() => engine.close());

  it("UM-1 makes the sandbox's root nobody outside, in maps and on files", async () => {
    const first = initPidOf(engine.dir, box.ref);
    for (const file of ["uid_map", "gid_map"]) {
      const lines = readFileSync(`/proc/${first}/${file}`, "utf8").trim().split("\n");
      expect(lines).toHaveLength(1);
      const [inside = -1, outside = 0, count = 0] = (lines[0] as string).trim().split(/\s+/).map(Number);
      expect([inside, count]).toEqual([0, 65_536]);
      expect(outside).toBeGreaterThanOrEqual(FIRST_SUBORDINATE);
    }
    await shell(box, "touch /by-root", { user: "root" });
    const written = statSync(`/proc/${first}/root/by-root`);
    expect([written.uid, written.gid]).toEqual([idMapOf(first)[0]?.[1], idMapOf(first)[0]?.[1]]);
    expect(statSync("/proc/self").uid, "control: here root is root").toBe(0);
  });

  it("UM-2 gives fifty sandboxes fifty ranges", async () => {
    const boxes = await Promise.all(Array.from({ length: 50 }, () => engine.create()));
    const starts = boxes
      .map((one) => idMapOf(initPidOf(engine.dir, one.ref))[0]?.[1] ?? 0)
      .sort((a, b) => a - b);
    for (const [index, start] of starts.entries()) {
      if (index > 0) expect(start - (starts[index - 1] ?? 0)).toBeGreaterThanOrEqual(65_536);
    }
    for (const one of boxes) await engine.destroy(one);
  }, 300_000);

  it("UM-3 becomes no id and gives files to no id that is not its own", async () => {
    const asRoot = { user: "root" };
    await shell(box, "touch /var/tmp/f", asRoot);
    for (const id of ["65536", "100000", "268435456", "4294967294"]) {
      expect((await run(box, [probe, "call", String(CALLS.setuid), id], asRoot)).text, id).toBe(EINVAL);
      const chown = [probe, "call", "92", "@/var/tmp/f", id, id];
      expect((await run(box, chown, asRoot)).text, id).toBe(EINVAL);
    }
    const none = [probe, "call", String(CALLS.setuid), "4294967295"];
    expect((await run(box, none, asRoot)).text).toBe(EINVAL);
    expect((await run(box, [probe, "call", String(CALLS.setuid), "65535"], asRoot)).text, "control").toBe(
      "0\n",
    );
    expect((await run(box, [probe, "call", String(CALLS.setuid), "0"])).text, "as user").toBe("1\n");
  });

  it("UM-4 takes a user as it is spelled in /etc/passwd, or not at all", async () => {
    const wrong = "1: 0x0 +0 -0 00 root: Root 4294967295 99999999999 -1 0:0 1000:1000 daemon 1e3".split(" ");
    for (const user of [...wrong, " root", "root ", "", "root\n", "ro\u{200b}ot", "\u{ff10}"]) {
      await expect(start(box, { argv: ["id"], user }), JSON.stringify(user)).rejects.toMatchObject({
        code: "no_such_user",
      });
    }
    for (const [user, uid] of Object.entries({ root: 0, "0": 0, user: 1000, "1000": 1000, nobody: 65534 })) {
      expect((await run(box, ["id", "-u"], { user, cwd: "/" })).text, user).toBe(`${uid}\n`);
    }
  });

  it("UM-4 asks the sandbox's own passwd, which cannot reach further than its map", async () => {
    const entries = [
      "high:x:70000:70000::/:/bin/sh",
      "odd:x:70001:1000::/:/bin/sh",
      "none:x:4294967295:0::/:/bin/sh",
      "zero:x:0:0::/:/bin/sh",
    ];
    const write = `printf '${entries.join("\\n")}\\n' >> /etc/passwd`;
    await shell(box, write, { user: "root" });
    for (const user of ["high", "odd", "none", "70000"]) {
      await expect(start(box, { argv: ["id"], user }), user).rejects.toMatchObject({ code: "no_such_user" });
      const write = box.files.write("/root/planted", [], { user });
      await expect(write, `a file by ${user}`).rejects.toMatchObject({ code: "no_such_user" });
    }
    const program = await start(box, { argv: ["sleep", "60"], user: "zero" });
    const status = readFileSync(
      `/proc/${hostPidOf(initPidOf(engine.dir, box.ref), program.pid ?? 0)}/status`,
      "utf8",
    );
    const uid = Number(/^Uid:\t(\d+)/m.exec(status)?.[1]);
    const [, base] = idMapOf(initPidOf(engine.dir, box.ref))[0] ?? [];
    expect(uid, "another name for the sandbox's root, and still nobody outside").toBe(base);
    expect(uid).toBeGreaterThanOrEqual(FIRST_SUBORDINATE);
    await program.signal("KILL");
  });

  it("UM-5 has no group of the host's", async () => {
    const base = idMapOf(initPidOf(engine.dir, box.ref))[0]?.[1] ?? 0;
    for (const user of ["user", "root"]) {
      const program = await start(box, { argv: ["sleep", "60"], user });
      const pid = hostPidOf(initPidOf(engine.dir, box.ref), program.pid ?? 0);
      const groups = /^Groups:(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? "";
      for (const group of groups.trim().split(/\s+/)) expect(Number(group)).toBeGreaterThanOrEqual(base);
      await program.signal("KILL");
    }
  });
});
