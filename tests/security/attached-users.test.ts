import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { collect, type Principal, type Process } from "@sandboxer/contract";
import { type Core, createCore, createRootKey, openSqliteStore } from "@sandboxer/core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { type Engine, openEngine } from "./engine.ts";
import { hostPidOf, idMapOf, initPidOf } from "./host-view.ts";

const { describe, given } = await requires("linux-userns", "boxd", "root");

const OK = { kind: "exited", code: 0 };

describe("a team in one sandbox", () => {
  let engine: Engine;
  let core: Core;
  let owner: Principal;
  let sandboxId: string;
  let first: number;
  const agents: Record<"one" | "two" | "reviewer", Principal> = {} as never;
  const uids: Record<string, number> = {};
  const folder = mkdtempSync(join(tmpdir(), "sandboxer-team-"));
  const closing: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    engine = await openEngine({ boxdPath: given.boxd.path });
    const store = openSqliteStore(join(folder, "store.db"));
    core = await createCore({ store, extensions: [engine.extension] });
    closing.push(
      () => core.close(),
      () => store.close(),
    );
    owner = (await createRootKey(store)).principal;
    sandboxId = (await core.create(owner, {})).id;
    await say(owner, "mkdir early && echo old > early/file && (umask 077; echo mine > early/private)");
    for (const name of ["one", "two", "reviewer"] as const) {
      const { key, apiKey } = await core.createKey(owner, { role: "operator" });
      agents[name] = await core.authenticate(apiKey);
      const how = name === "reviewer" ? { access: "read-only" as const } : { user: "own" as const };
      const { attachment } = await core.attach(owner, {
        mode: "chosen",
        sandbox: sandboxId,
        keyId: key.id,
        ...how,
      });
      uids[name] = attachment.uid ?? 0;
    }
    first = initPidOf(engine.dir, (await core.get(owner, sandboxId)).location?.ref ?? "");
  });
  afterAll(async () => {
    await core.destroy(owner, sandboxId);
    await engine.close();
    for (const close of closing) await close();
    rmSync(folder, { recursive: true });
  });

  async function say(who: Principal, script: string) {
    const { stdout, exit } = await collect(
      await core.exec(who, sandboxId, { argv: ["sh", "-c", `exec 2>&1; ${script}`] }),
    );
    return { text: Buffer.from(stdout).toString(), exit };
  }
  const statusOf = (process: Process) =>
    readFileSync(`/proc/${hostPidOf(first, process.pid ?? 0)}/status`, "utf8");
  const outside = (uid: number) => (idMapOf(first)[0]?.[1] ?? 0) + uid;
  const sleep = (who: Principal) =>
    core.exec(who, sandboxId, { argv: ["sleep", "300"], env: { TOKEN: "of-its-own" } });

  it("AT-1 gives each a user of its own, as the host sees it, without a capability or sudo", async () => {
    expect(new Set(Object.values(uids)).size).toBe(3);
    for (const name of ["one", "two", "reviewer"] as const) {
      const process = await sleep(agents[name]);
      const status = statusOf(process);
      expect(Number(/^Uid:\t(\d+)/m.exec(status)?.[1]), name).toBe(outside(uids[name] ?? 0));
      expect(/^CapEff:\t(\w+)/m.exec(status)?.[1], name).toBe("0000000000000000");
      await process.signal("KILL");
      expect((await say(agents[name], "sudo id -u")).exit, name).not.toEqual(OK);
    }
    expect((await say(owner, "sudo id -u")).text, "control").toBe("0\n");
  });

  it("AT-2 lets nobody signal, read or trace what another runs", async () => {
    const theirs = await sleep(agents.one);
    const own = await sleep(agents.two);
    const [pid, ownPid] = [theirs.pid, own.pid];
    expect((await say(agents.two, `kill -9 ${pid}`)).exit).not.toEqual(OK);
    for (const part of ["environ", "mem", "cwd/", "fd/"]) {
      expect(
        (await say(agents.two, `ls /proc/${pid}/${part} && cat /proc/${pid}/${part}`)).exit,
        part,
      ).not.toEqual(OK);
    }
    expect((await say(agents.two, `tr '\\0' '\\n' < /proc/${ownPid}/environ`)).text, "control").toContain(
      "TOKEN=of-its-own",
    );
    expect(statusOf(theirs), "it lives").toMatch(/^State:\tS/m);
    expect((await core.ps(agents.two, sandboxId)).map(({ id }) => id)).not.toContain(theirs.id);
    await expect(core.attachProcess(agents.two, sandboxId, theirs.id)).rejects.toMatchObject({
      code: "not_found",
    });
    expect((await say(agents.two, `kill -9 ${ownPid}`)).exit, "control").toEqual(OK);
    await theirs.signal("KILL");
  });

  it("AT-3 lets those who may write work on one tree, each under its own id, whatever mask they have", async () => {
    expect((await say(agents.one, "umask 022; mkdir -p early/src && echo 1 > early/src/a")).exit).toEqual(OK);
    expect((await say(agents.two, "umask 077; echo 2 >> early/src/a; echo 2 > early/src/b")).exit).toEqual(
      OK,
    );
    expect((await say(agents.two, "echo 2 >> early/file && cat early/file")).text).toBe("old\n2\n");
    expect((await say(owner, "echo 0 >> early/src/a && cat early/src/a")).text).toBe("1\n2\n0\n");
    const tree = `/proc/${first}/root/home/user/early/src`;
    expect(statSync(join(tree, "a")).uid).toBe(outside(uids.one ?? 0));
    expect(statSync(join(tree, "b")).uid).toBe(outside(uids.two ?? 0));
    const files = await core.files(agents.two, sandboxId);
    await files.write("early/src/c", [Buffer.from("by hand")]);
    expect(statSync(join(tree, "c")).uid).toBe(outside(uids.two ?? 0));
    await expect(files.read("early/file", { user: "root" })).rejects.toMatchObject({ code: "policy_denied" });
  });

  it("AT-4 leaves what somebody keeps private to that one, and all but the tree to root", async () => {
    for (const name of ["one", "two", "reviewer"] as const) {
      expect((await say(agents[name], "cat early/private")).exit, name).not.toEqual(OK);
      expect((await say(agents[name], "echo x >> /etc/passwd")).exit, name).not.toEqual(OK);
    }
    expect(
      (await say(agents.one, "(umask 077; mkdir secret; echo s > /tmp/secret); chmod 700 secret")).exit,
    ).toEqual(OK);
    expect((await say(agents.two, "ls secret || cat /tmp/secret")).exit).not.toEqual(OK);
    expect((await say(owner, "cat early/private")).text, "control").toBe("mine\n");
  });

  it("AT-5 lets a reviewer read the tree and change nothing in it", async () => {
    expect((await say(agents.reviewer, "cat early/file")).text, "control").toContain("old\n");
    for (const change of ["echo x >> early/file", "touch early/new", "rm early/file", "mkdir early/d"]) {
      expect((await say(agents.reviewer, change)).exit, change).not.toEqual(OK);
    }
    const files = await core.files(agents.reviewer, sandboxId);
    await expect(files.write("early/new", [])).rejects.toMatchObject({ code: "policy_denied" });
  });

  it("AT-6 opens nothing through links, and nothing of root's, when a newcomer is let in", async () => {
    const plant = "mkdir trap && ln -s /etc trap/etc && ln -s /etc/passwd trap/passwd; echo r > /tmp/r";
    expect((await say(owner, plant)).exit).toEqual(OK);
    const root =
      "mkdir trap/root && echo r > trap/root/file && chown -R root:root trap/root && chmod -R g-ws trap/root";
    expect((await say(owner, `sudo sh -c '${root}'`)).exit).toEqual(OK);
    const { key, apiKey } = await core.createKey(owner, { role: "operator" });
    const late = await core.authenticate(apiKey);
    await core.attach(owner, { mode: "chosen", sandbox: sandboxId, keyId: key.id, user: "own" });
    expect((await say(late, "echo late > trap/late && cat trap/late")).text, "control").toBe("late\n");
    for (const change of ["trap/etc/new", "trap/passwd", "trap/root/file", "trap/root/new"]) {
      expect((await say(late, `echo x >> ${change}`)).exit, change).not.toEqual(OK);
    }
    const modeOf = (path: string) => statSync(`/proc/${first}/root${path}`).mode & 0o7777;
    expect(["/etc/passwd", "/etc", "/home/user/trap/root/file"].map(modeOf)).toEqual([0o644, 0o755, 0o644]);
  });
});
