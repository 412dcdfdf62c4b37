import { createHash, randomBytes } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isErrorCode } from "@sandboxer/contract";
import { type Gateway, openGateway, silent } from "@sandboxer/gateway";
import { type Client, createClient, type Sandbox } from "@sandboxer/sdk";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { archiveOf } from "../security/archive.ts";
import { expectNothingLeft, makeHome } from "./home.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

const SOON = { timeout: 30_000, interval: 2 };
const PIECE = 1 << 20;
const LARGE = 24 * PIECE;
/** More than all buffers on the way hold together. */
const MOST = 16 * PIECE;
const WHOLE = randomBytes(LARGE);

const say = async (sandbox: Sandbox, script: string) =>
  new TextDecoder().decode((await sandbox.run(["sh", "-c", script])).stdout).trim();

/** What happens to the sandbox, and how it comes back. */
const VERBS: Readonly<
  Record<string, { act(one: Sandbox): Promise<unknown>; back?(one: Sandbox): Promise<unknown> }>
> = {
  pause: { act: (one) => one.pause(), back: (one) => one.resume() },
  stop: { act: (one) => one.stop(), back: (one) => one.start() },
  destroy: { act: (one) => one.destroy() },
};

interface Copy {
  /** It surely is in the middle, and so cannot be done without the sandbox. */
  readonly isHeld?: true;
  /** What the sandbox is made with, beside what all have. */
  readonly spec?: () => object;
  prepare?(sandbox: Sandbox): Promise<unknown>;
  /** Calls `begun` once it is in the middle, and goes on when `go` is resolved. */
  copy(sandbox: Sandbox, begun: () => void, go: Promise<void>): Promise<unknown>;
  /** That there is nothing half, given whether it said that it was done. */
  check(sandbox: Sandbox | undefined, done: unknown): Promise<void>;
}

describe("a sandbox is put down while something is copied", () => {
  const closing: (() => Promise<void> | void)[] = [];
  let home: string;
  let folder: string;
  let gateway: Gateway;
  let client: Client;
  let isClosed = false;
  const close = async () => {
    if (!isClosed) await gateway.close();
    isClosed = true;
  };

  beforeAll(async () => {
    home = makeHome((close) => void closing.push(close));
    folder = mkdtempSync(join(tmpdir(), "sandboxer-copied-"));
    closing.push(() => rmSync(folder, { recursive: true }));
    gateway = await openGateway({ home, listen: { host: "127.0.0.1", port: 0 }, log: silent });
    client = createClient({ url: gateway.url ?? "", apiKey: gateway.apiKey });
  });
  afterAll(async () => {
    await close();
    for (const clean of closing.reverse()) await clean();
  });

  afterEach(async () => {
    if (isClosed) return;
    // Those of a pair that failed say nothing of the next.
    for (const id of await living()) await (await client.sandboxes.get(id)).destroy();
  });

  const drafts = () => {
    const shelf = join(home, "snapshots");
    return existsSync(shelf) ? readdirSync(shelf).filter((name) => /new|old/.test(name)) : [];
  };
  /** Copies of disks, where forks are made of those. */
  const layers = () => {
    const all = join(home, "engine/layers");
    return existsSync(all) ? readdirSync(all) : [];
  };
  const living = async () => {
    const states = ["requested", "provisioning", "running", "paused", "destroying"] as const;
    return (await client.sandboxes.list({ states })).sandboxes.map(({ id }) => id);
  };

  /** So much that some of it has surely arrived, and the rest when it is told to. */
  async function* held(bytes: Buffer, begun: () => void, go: Promise<void>) {
    for (let sent = 0; sent < bytes.length; sent += PIECE) {
      if (sent === MOST) begun();
      if (sent >= MOST) await go;
      yield bytes.subarray(sent, sent + PIECE);
    }
  }

  async function received(data: AsyncIterable<Uint8Array>, begun: () => void, go: Promise<void>) {
    let bytes = 0;
    for await (const chunk of data) {
      if (bytes === 0) {
        begun();
        await go;
      }
      bytes += chunk.length;
    }
    return bytes;
  }

  /** While a layer is being written. */
  const drafted = async (begun: () => void) => {
    await expect.poll(() => [...drafts(), ...layers()], SOON).not.toEqual([]);
    begun();
  };
  const fill = (sandbox: Sandbox) => say(sandbox, `head -c ${LARGE} /dev/urandom > ~/large`);
  const mirror = () => {
    rmSync(folder, { recursive: true });
    mkdirSync(folder);
    writeFileSync(join(folder, "kept"), "kept\n");
    return { workspace: { source: folder, mode: "mirror" } };
  };

  const wholeOrNothing = async (sandbox: Sandbox | undefined, place: string, done: unknown) => {
    if (!sandbox) return;
    const found = await say(
      sandbox,
      `ls -A ${place} 2>/dev/null; sha256sum ${place}/file 2>/dev/null | cut -c -64`,
    );
    const whole = `file\n${createHash("sha256").update(WHOLE).digest("hex")}`;
    expect(done === undefined ? ["", whole] : [whole]).toContain(found);
  };

  const COPIES: Readonly<Record<string, Copy>> = {
    "an upload": {
      isHeld: true,
      copy: (sandbox, begun, go) => sandbox.files.write("up/file", held(WHOLE, begun, go), { parents: true }),
      check: (sandbox, done) => wholeOrNothing(sandbox, "up", done),
    },
    "a folder in": {
      isHeld: true,
      copy: (sandbox, begun, go) => {
        const archive = archiveOf([{ name: "file", content: WHOLE }]);
        return sandbox.files.unpack("in", held(archive, begun, go), { parents: true });
      },
      check: (sandbox, done) => wholeOrNothing(sandbox, "in", done),
    },
    "a download": {
      isHeld: true,
      prepare: fill,
      copy: async (sandbox, begun, go) => received((await sandbox.files.read("large")).data, begun, go),
      async check(_, done) {
        expect([undefined, LARGE]).toContain(done);
      },
    },
    "a folder out": {
      isHeld: true,
      prepare: (sandbox) => say(sandbox, `mkdir out; head -c ${LARGE} /dev/urandom > out/large`),
      copy: async (sandbox, begun, go) => received(await sandbox.files.pack("out"), begun, go),
      async check(_, done) {
        if (done !== undefined) expect(done).toBeGreaterThan(LARGE);
      },
    },
    "a push": {
      spec: mirror,
      async copy(sandbox, begun) {
        writeFileSync(join(folder, "large"), randomBytes(LARGE));
        const synced = sandbox.workspace.sync();
        begun();
        return synced;
      },
      async check(sandbox) {
        expect(readdirSync(folder).sort()).toEqual(["kept", "large"]);
        if (!sandbox) return;
        await sandbox.workspace.sync();
        const inside = await say(sandbox, "ls -A | sort; sha256sum < large | cut -c -64");
        const hash = createHash("sha256").update(readFileSync(join(folder, "large")));
        expect(inside).toBe(`kept\nlarge\n${hash.digest("hex")}`);
      },
    },
    "a pull": {
      spec: mirror,
      prepare: (sandbox) => sandbox.files.write("/workspace/large", randomBytes(LARGE)),
      async copy(sandbox, begun) {
        const synced = sandbox.workspace.sync();
        begun();
        return synced;
      },
      async check(sandbox) {
        const there = readdirSync(folder).sort();
        expect([["kept"], ["kept", "large"]]).toContainEqual(there);
        if (there.length > 1) expect(readFileSync(join(folder, "large"))).toHaveLength(LARGE);
        if (!sandbox) return;
        await sandbox.workspace.sync();
        expect(readFileSync(join(folder, "large"))).toHaveLength(LARGE);
      },
    },
    "a snapshot": {
      prepare: fill,
      async copy(sandbox, begun) {
        const [snapshot] = await Promise.all([sandbox.snapshot(), drafted(begun)]);
        return snapshot.id;
      },
      async check(_, done) {
        const found = (await client.snapshots.list()).map(({ id }) => id);
        expect(found).toEqual(done === undefined ? [] : [done]);
        if (typeof done !== "string") return;
        const restored = await client.sandboxes.create({ from: done });
        expect(await say(restored, "stat -c %s large")).toBe(String(LARGE));
        await restored.destroy();
        await client.snapshots.delete(done);
      },
    },
    "a fork": {
      prepare: fill,
      async copy(sandbox, begun) {
        const [copies] = await Promise.all([sandbox.fork(2), drafted(begun)]);
        return copies;
      },
      async check(sandbox, done) {
        const copies = (done ?? []) as Sandbox[];
        expect((await living()).sort()).toEqual(
          [...copies, ...(sandbox ? [sandbox] : [])].map(({ id }) => id).sort(),
        );
        for (const copy of copies) {
          expect(await say(copy, "stat -c %s large")).toBe(String(LARGE));
          await copy.destroy();
        }
        expect(await client.snapshots.list()).toEqual([]);
      },
    },
  };

  const PAIRS = Object.keys(COPIES).flatMap((copy) =>
    Object.keys(VERBS).map((verb) => [verb, copy] as const),
  );

  it.each(PAIRS)("%s during %s: a typed outcome, nothing half, nothing left", async (verb, name) => {
    const { isHeld, spec, prepare, copy, check } = COPIES[name] as Copy;
    const { act, back } = VERBS[verb] as (typeof VERBS)[string];
    const sandbox = await client.sandboxes.create({ persistence: "persistent", ttlMs: 600_000, ...spec?.() });
    await prepare?.(sandbox);
    const middle = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const outcome = copy(sandbox, middle.resolve, go.promise).then(
      (done) => ({ done: done ?? true }),
      (error) => ({ error }),
    );
    await Promise.race([middle.promise, outcome]);
    const acted = act(sandbox).then(
      () => undefined,
      (error) => error,
    );
    // One that waits for the copy's end is answered then.
    await Promise.race([acted, new Promise((resolve) => setTimeout(resolve, 1_000))]);
    go.resolve();
    const refused = await acted;
    expect(refused === undefined || isErrorCode(refused.code), String(refused)).toBe(true);
    if (back && !refused) await back(sandbox);
    const ended = await outcome;
    const error = "error" in ended ? ended.error : undefined;
    expect(error === undefined || (isErrorCode(error.code) && error.code !== "internal"), String(error)).toBe(
      true,
    );
    // What is paused goes on; what has ended cannot have copied the rest.
    if (verb === "pause") expect(error).toBeUndefined();
    else if (isHeld) expect(error).toBeDefined();
    if (back) expect(await say(sandbox, "echo on")).toBe("on");
    await check(back && sandbox, "done" in ended ? ended.done : undefined);
    if (back) await sandbox.destroy();
    await expect.poll(() => [...drafts(), ...layers()], SOON).toEqual([]);
    expect(await living()).toEqual([]);
  });

  it("leaves nothing on the machine", async () => {
    await close();
    await expectNothingLeft(home);
  });
});
