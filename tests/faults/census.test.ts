import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { newSandboxId } from "@sandboxer/contract";
import { openSqliteStore } from "@sandboxer/core";
import { expect, it, onTestFinished } from "vitest";
import { beginCreateOf, settleOf } from "../../packages/core/test/rows.ts";
import { requires } from "../capabilities/requires.ts";
import { type Census, NOTHING, takeCensus } from "./census.ts";
import { makeHome } from "./home.ts";

const { describe: asRoot } = await requires("root");

/** The one kind that is no longer empty. */
function redOf(home: string): (keyof Census)[] {
  const census = takeCensus(home);
  return (Object.keys(NOTHING) as (keyof Census)[]).filter((kind) => census[kind].length > 0);
}

async function homeWithBooks() {
  const home = makeHome(onTestFinished);
  const store = openSqliteStore(join(home, "state.db"));
  onTestFinished(() => store.close());
  const begin = beginCreateOf({ orgId: "org_one", id: newSandboxId() });
  await store.beginCreate(begin);
  await store.settleCreate(settleOf(begin.sandbox.id));
  await store.markGone({ sandboxId: begin.sandbox.id, to: "lost", atMs: 3_000, reason: "a test" });
  return { home, store, id: begin.sandbox.id, db: new DatabaseSync(join(home, "state.db")) };
}

it("counts nothing in a home where nothing is left", async () => {
  const { home } = await homeWithBooks();
  expect(takeCensus(home)).toEqual(NOTHING);
});

it("counts a process that names the home, and not the same one once it is dead", async () => {
  const { home } = await homeWithBooks();
  const child = spawn("sh", ["-c", "echo; sleep 60", home], { stdio: ["ignore", "pipe", "ignore"] });
  await once(child.stdout, "data");
  expect(redOf(home)).toEqual(["processes"]);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(redOf(home)).toEqual([]);
});

it("counts sockets, boxes, trash and drafts", async () => {
  const { home } = await homeWithBooks();
  const server = createServer().listen(join(home, "engine/boxes/box.sock"));
  await once(server, "listening");
  expect(redOf(home)).toEqual(["sockets", "boxes"]);
  server.close();
  await once(server, "close");
  mkdirSync(join(home, "engine/trash/1-1"));
  expect(redOf(home)).toEqual(["trash"]);
  rmSync(join(home, "engine/trash/1-1"), { recursive: true });
  writeFileSync(join(home, "gateway.json.123"), "");
  expect(redOf(home)).toEqual(["files"]);
});

it("counts a row that is not over, money still held and a log that was changed", async () => {
  const { home, store, db } = await homeWithBooks();
  const begin = beginCreateOf({ orgId: "org_one", id: newSandboxId() });
  await store.beginCreate(begin);
  expect(redOf(home)).toEqual(["rows", "money"]);
  await store.failCreate({ sandboxId: begin.sandbox.id, atMs: 2_000, reason: "a test" });
  expect(redOf(home)).toEqual([]);
  db.exec("DROP TRIGGER events_stay; UPDATE events SET data = '{}' WHERE seq = 2");
  expect(redOf(home)).toEqual(["events"]);
  db.close();
});

asRoot("the census of what only root can leave behind", () => {
  it("counts a process in a pid namespace of ours, and its network namespace", async () => {
    const { home } = await homeWithBooks();
    // The init names the home; what it started does not.
    const argv = ["--pid", "--net", "--fork", "--kill-child", "sh", "-c", "sleep 61 & echo; wait", home];
    const child = spawn("unshare", argv, { stdio: ["ignore", "pipe", "ignore"] });
    await once(child.stdout, "data");
    expect(redOf(home)).toEqual(["processes", "networks"]);
    expect(takeCensus(home).processes.join()).toContain("sleep 61");
    child.kill("SIGKILL");
    await once(child, "exit");
    await expect.poll(() => redOf(home)).toEqual([]);
  });

  it("counts a mount and a network namespace that is kept by one", async () => {
    const { home } = await homeWithBooks();
    mkdirSync(join(home, "engine/planted"));
    execFileSync("mount", ["-t", "tmpfs", "tmpfs", join(home, "engine/planted")]);
    expect(redOf(home)).toEqual(["mounts"]);
    execFileSync("umount", [join(home, "engine/planted")]);
    const kept = join(home, "root.key");
    writeFileSync(kept, "");
    execFileSync("unshare", [`--net=${kept}`, "true"]);
    expect(redOf(home)).toEqual(["mounts", "networks"]);
    execFileSync("umount", [kept]);
    expect(redOf(home)).toEqual([]);
  });

  it("counts a loop device over a file of ours", async ({ skip }) => {
    const { home } = await homeWithBooks();
    const file = join(home, "root.key");
    writeFileSync(file, new Uint8Array(1 << 20));
    const made = spawnSync("losetup", ["--find", "--show", file], { encoding: "utf8" });
    if (made.status !== 0) return skip("no loop device can be had here");
    expect(redOf(home)).toEqual(["disks"]);
    execFileSync("losetup", ["--detach", made.stdout.trim()]);
    await expect.poll(() => redOf(home)).toEqual([]);
  });

  it("counts a cgroup named after one of our sandboxes, in any hierarchy", async ({ skip }) => {
    const { home, id } = await homeWithBooks();
    const place = ["/sys/fs/cgroup/freezer", "/sys/fs/cgroup"].find((root) => {
      try {
        mkdirSync(join(root, `planted-${id}`));
        return true;
      } catch {
        return false;
      }
    });
    if (!place) return skip("no cgroup can be made here");
    expect(redOf(home)).toEqual(["cgroups"]);
    rmdirSync(join(place, `planted-${id}`));
    expect(redOf(home)).toEqual([]);
  });
});
