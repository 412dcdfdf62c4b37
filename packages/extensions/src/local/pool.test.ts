import { cp, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { newSandboxId, SandboxerError } from "@sandboxer/contract";
import { afterEach, beforeEach, expect, it } from "vitest";
import { endProcessesOf } from "../../../../tests/capabilities/processes.ts";
import { requires } from "../../../../tests/capabilities/requires.ts";
import type { Connection } from "../_kit/boxd/index.ts";
import { findBoxd } from "../_kit/boxd/path.ts";
import { createHold, type Hold } from "./hold.ts";
import { prepareHostImage } from "./host-image.ts";
import { openAside } from "./images/aside.ts";
import { type CreateMembers, createPool, type Pool } from "./pool.ts";

const { describe } = await requires("linux-userns", "boxd");

const FILLED_WITHIN_MS = 60_000;

describe("the pool", () => {
  let dir: string;
  let hold: Hold;
  let pool: Pool;
  const gone = async () => new SandboxerError("sandbox_gone", "gone");
  const members = async (more: Partial<CreateMembers> = {}): Promise<CreateMembers> => {
    const root = await prepareHostImage(join(dir, "images"), openAside(join(dir, "drafts"), findBoxd()));
    const whose = { id: newSandboxId(), installation: "ins", env: {}, labels: {}, ttlMs: 60_000 };
    return { ...whose, root, hostname: "sandbox", limits: {}, deniesRoot: false, ...more };
  };
  const held = async (): Promise<{ id: string; pooled?: boolean; labels: object }[]> =>
    (await hold.call("list")).boxes as never;
  const waitingOnes = async () => (await held()).filter((box) => box.pooled);
  const untilReady = async (count: number): Promise<void> => {
    const deadline = Date.now() + FILLED_WITHIN_MS;
    while ((await waitingOnes()).length !== count && Date.now() < deadline) await sleep(10);
    // The last one is listed a moment before it is ready.
    await sleep(500);
    expect(await waitingOnes()).toHaveLength(count);
  };
  const say = async (connection: Connection, script: string): Promise<string> => {
    const stream = await connection.open("exec", { argv: ["sh", "-c", script], env: {}, stdin: false });
    let text = "";
    for (;;) {
      const item = await stream.next();
      if (item.type === "data") text += Buffer.from(item.data).toString();
      if (item.type === "end") return text;
    }
  };

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), "sandboxer-pool-"));
    hold = createHold(dir, findBoxd());
    pool = createPool(hold, 2, gone);
  });
  afterEach(async () => {
    await pool.close();
    expect(await waitingOnes()).toEqual([]);
    for (const { id } of await held()) await hold.call("destroy", { id, graceMs: 0 });
    hold.close();
    endProcessesOf(dir);
    await rm(dir, { recursive: true, force: true });
  });

  it("has nothing of a kind that was never asked for, then gives what it made, then makes more", async () => {
    const wanted = await members({ env: { MINE: "yes" }, labels: { who: "me" } });
    expect(await pool.claim(wanted)).toBeUndefined();
    pool.replenishLater(wanted);
    await untilReady(2);
    const claimed = await pool.claim(wanted);
    expect(claimed && (await say(claimed, "echo $MINE"))).toBe("yes\n");
    expect((await held()).find((box) => box.id === wanted.id)?.labels).toEqual({ who: "me" });
    pool.replenishLater(wanted);
    await untilReady(2);
  });

  it("keeps as many ready as a profile wants, more or none", async () => {
    const [three, none] = [await members({ limits: { pids: 60 } }), await members({ limits: { pids: 70 } })];
    pool.replenishLater(three, 3);
    pool.replenishLater(none, 0);
    await untilReady(3);
    expect(await pool.claim(none)).toBeUndefined();
    expect(await pool.claim(three)).toBeDefined();
  });

  it("XS-9 gives two owners sandboxes that share nothing and hold nothing of an earlier run", async () => {
    const [one, other] = [await members(), await members()];
    pool.replenishLater(one);
    await untilReady(2);
    const [first, second] = [await pool.claim(one), await pool.claim(other)];
    if (!first || !second) throw new Error("the pool was empty");
    const look = "echo mark > /tmp/mark; echo mark > ~/mark; head -c 16 /dev/urandom | od -An -tx1";
    const before = "ls -A /tmp ~; ls -d /proc/[0-9]*; head -c 16 /dev/urandom | od -An -tx1";
    const drawn = await say(first, look);
    const seen = await say(second, before);
    expect(seen).not.toContain("mark");
    expect(seen).not.toContain(drawn.trim());
    const inode = "stat -Lc %i /proc/self/ns/user /proc/self/ns/net /proc/self/ns/pid";
    const [its, others] = [await say(first, inode), await say(second, inode)];
    for (const line of its.trim().split("\n")) expect(others).not.toContain(line);
    expect(await pool.claim(await members())).toBeUndefined();
  });

  it("does not give one kind for another", async () => {
    pool.replenishLater(await members());
    await untilReady(2);
    expect(await pool.claim(await members({ limits: { pids: 50 } }))).toBeUndefined();
    expect(await pool.claim(await members({ deniesRoot: true }))).toBeUndefined();
    expect(await pool.claim(await members({ installation: "another" }))).toBeUndefined();
  });

  it("does not give what was made of another folder than the path leads to now", async () => {
    const { root, ...rest } = await members();
    const path = join(dir, "chosen");
    for (const name of ["one", "another"])
      await cp(String(root.lowers[0]), join(dir, name), { recursive: true });
    await symlink("one", path);
    const wanted = { ...rest, root: { ...root, lowers: [path], judgesLowers: true } };
    pool.replenishLater(wanted);
    await untilReady(2);
    await rm(path);
    await symlink("another", path);
    expect(await pool.claim(wanted)).toBeUndefined();
    expect(await waitingOnes()).toEqual([]);
    pool.replenishLater(wanted);
    await untilReady(2);
    expect(await pool.claim(wanted)).toBeDefined();
    await writeFile(join(dir, "another/new"), "");
    expect(await pool.claim({ ...wanted, id: newSandboxId() })).toBeUndefined();
  });

  it("falls back to nothing when what it made has ended, and leaves the id free", async () => {
    const wanted = await members();
    pool.replenishLater(wanted);
    await untilReady(2);
    for (const { id } of await waitingOnes()) await hold.call("destroy", { id, graceMs: 0 });
    expect(await pool.claim(wanted)).toBeUndefined();
    await expect(hold.create({ ...wanted }, gone)).resolves.toBeDefined();
  });

  it("never ends a sandbox that lives under the id that is asked for", async () => {
    const wanted = await members();
    const living = await hold.create({ ...wanted }, gone);
    pool.replenishLater(wanted);
    await untilReady(2);
    expect(await pool.claim(wanted)).toBeUndefined();
    expect(await say(living, "echo alive")).toBe("alive\n");
  });

  it("gives up what nobody has claimed, and goes on afterwards", async () => {
    const wanted = await members();
    pool.replenishLater(wanted);
    await untilReady(2);
    await pool.giveUp();
    await untilReady(0);
    expect(await pool.claim(wanted)).toBeUndefined();
    pool.replenishLater(wanted);
    await untilReady(2);
  });

  it("keeps none that was being made when its kind gave way to others", async () => {
    const ended: unknown[] = [];
    const made: { id: string; finish(): void }[] = [];
    const slow = {
      tether: async () => {},
      untether: () => {},
      call: async (op: string, { id }: { id?: string } = {}) => void (op === "destroy" && ended.push(id)),
      create: ({ id }: CreateMembers) =>
        new Promise((resolve) => {
          made.push({ id, finish: () => resolve({ isOver: false, close: () => {} }) });
        }),
    } as unknown as Hold;
    const another = createPool(slow, 1, gone);
    const first = await members();
    const others = [50, 51, 52, 53].map((pids) => ({ ...first, limits: { pids } }));
    another.replenishLater(first);
    await expect.poll(() => made.length).toBe(1);
    for (const one of others) another.replenishLater(one);
    made[0]?.finish();
    await expect.poll(() => made.length).toBe(2);
    expect(ended).toEqual([made[0]?.id]);
    for (let at = 1; at <= others.length; at++) {
      await expect.poll(() => made.length).toBe(at + 1);
      made[at]?.finish();
    }
    await another.close();
    expect(ended.toSorted()).toEqual(made.map(({ id }) => id).toSorted());
  });
});
