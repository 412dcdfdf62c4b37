import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import {
  type Box,
  collect,
  type Extension,
  execRequestSchema,
  newRowId,
  newSandboxId,
} from "@sandboxer/contract";
import { createLocalExtension } from "@sandboxer/extensions/local";
import {
  ensureBlockStore,
  findBlockStore,
  makeBlockStore,
  openGateway,
  STORE_FAIL_POINTS,
  unmountBlockStore,
} from "@sandboxer/gateway";
import { createClient, type Sandbox } from "@sandboxer/sdk";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { endProcessesOf } from "../capabilities/processes.ts";
import { requires } from "../capabilities/requires.ts";
import { PLAIN_SPEC } from "../conformance/direct.ts";
import { removeEngine } from "../conformance/remove-engine.ts";

const { describe, given } = await requires("btrfs", "boxd");
const run = promisify(execFile);

vi.setConfig({ testTimeout: 240_000, hookTimeout: 300_000 });

const GIB = 2 ** 30;
const DOOMED = fileURLToPath(new URL("doomed-store.ts", import.meta.url));

describe("a store that shares blocks", () => {
  let place: string;
  let home: string;
  const engine = () => join(home, "engine");
  const liveLayers = async () =>
    (await readdir(join(engine(), "layers")).catch(() => [])).filter((name) => name.includes("-live-"));

  beforeEach(async () => {
    place = await mkdtemp(join(tmpdir(), "sandboxer-block-store-"));
    home = join(place, "home");
    await mkdir(home);
  });
  afterEach(async () => {
    await removeEngine(engine(), join(place, "nothing"));
    for (const folder of [engine(), join(home, "store.filling")]) {
      await vi.waitFor(
        async () => {
          if ((await run("findmnt", ["-n", folder]).catch(() => ({ stdout: "" }))).stdout)
            await run("umount", [folder]);
        },
        { timeout: 90_000, interval: 100 },
      );
    }
    await rm(place, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  });

  /** Whether the filesystem has any of its blocks for another file as well. */
  const isShared = async (path: string): Promise<boolean> => {
    const { stdout } = await run("filefrag", ["-v", path]);
    expect(stdout, "it has blocks at all").toMatch(/^ +0:/m);
    return /^ +\d+:.*\bshared\b/m.test(stdout);
  };
  const sh = async (sandbox: Sandbox, script: string) => {
    const { stdout, exit } = await sandbox.run(["sh", "-c", script]);
    expect(exit).toEqual({ kind: "exited", code: 0 });
    return Buffer.from(stdout).toString();
  };

  it("has forks of running sandboxes share their disk, each with a life of its own (SN-1, SN-2, SN-6)", async () => {
    await makeBlockStore(home, { bytes: 4 * GIB });
    const gateway = await openGateway({ home, listen: { host: "127.0.0.1", port: 0 }, log: () => {} });
    const client = createClient({ url: gateway.url ?? "", apiKey: gateway.apiKey });
    try {
      for (const persistence of ["ephemeral", "persistent"] as const) {
        const parent = await client.sandboxes.create({ persistence, ttlMs: 600_000 });
        const IDENTITY = "canary-of-one-life";
        await sh(
          parent,
          `echo before > ~/file; sudo sh -c 'echo ${IDENTITY} > /etc/machine-id; mkdir -p /etc/ssh; echo ${IDENTITY} > /etc/ssh/ssh_host_rsa_key; echo ${IDENTITY} > /run/token'; echo ${IDENTITY} > /tmp/token`,
        );
        const forks = await parent.fork(2);
        const [layer, ...others] = await liveLayers();
        expect(others, "one for all of them").toEqual([]);
        const disk = join(engine(), "layers", layer ?? "none", "disk.ext4");
        expect(await isShared(disk), "the disk was shared, and not copied").toBe(true);
        const copy = join(engine(), "copied");
        await run("cp", ["--reflink=never", "--sparse=always", disk, copy]);
        expect(await isShared(copy), "control: one that was copied").toBe(false);
        await rm(copy);
        await sh(parent, "echo after > ~/file; echo more > ~/more");
        const seen = new Set<string>([parent.id]);
        for (const fork of forks) {
          expect(await sh(fork, "cat ~/file; ls ~; touch ~/own")).toBe("before\nfile\n");
          const found = await sh(
            fork,
            `sudo grep -rls ${IDENTITY} /etc /run /tmp /var /home /root || true; head -c 32 /dev/urandom | base64`,
          );
          expect(found.trim().split("\n")).toHaveLength(1);
          for (const one of [fork.id, found]) {
            expect(seen.has(one)).toBe(false);
            seen.add(one);
          }
        }
        // A fork of a fork lies on both, whoever goes first.
        const [first, second] = forks;
        if (!first || !second) throw new Error("there are not two");
        await sh(first, "echo first > ~/first");
        const [grandchild] = await first.fork(1);
        for (const one of [parent, first, second]) await one.destroy();
        if (!grandchild) throw new Error("there is none");
        expect(await sh(grandchild, "cat ~/file ~/first; ls ~/own")).toContain("before\nfirst\n");
        await grandchild.destroy();
        await vi.waitFor(async () => expect(await liveLayers()).toEqual([]), {
          timeout: 60_000,
          interval: 100,
        });
      }
    } finally {
      await gateway.close();
    }
  });

  it("copies the disk of one that writes all the time as it is at one moment (SN-6)", async () => {
    await makeBlockStore(home, { bytes: 4 * GIB });
    const gateway = await openGateway({ home, listen: { host: "127.0.0.1", port: 0 }, log: () => {} });
    const client = createClient({ url: gateway.url ?? "", apiKey: gateway.apiKey });
    const WRITE = `cd ~; (i=0; while :; do i=$((i+1)); echo $i > first.new; mv first.new first
      mkdir d$i; head -c 70000 /dev/urandom > d$i/f; sha256sum d$i/f > d$i/sum; rm -rf d$((i-9))
      echo $i > second.new; mv second.new second; done) > /dev/null 2>&1 &`;
    try {
      for (const persistence of ["ephemeral", "persistent"] as const) {
        const parent = await client.sandboxes.create({ persistence, ttlMs: 600_000 });
        await sh(parent, WRITE);
        const at = () => sh(parent, "cat ~/second || true").then(Number);
        for (let round = 0, last = 0; round < 3; round += 1) {
          await vi.waitFor(async () => expect(await at()).toBeGreaterThan(last), { timeout: 60_000 });
          last = await at();
          const [fork] = await parent.fork(1);
          if (!fork) throw new Error("there is none");
          // Verdict from the host: the copy's own structure, apart from counts that are made up at mounting.
          const [layer] = (await liveLayers()).filter((name) => name.startsWith(parent.id));
          const copy = join(engine(), "check.ext4");
          await run("cp", ["--reflink=always", join(engine(), "layers", layer ?? "", "disk.ext4"), copy]);
          const { stdout } = await run("/sbin/e2fsck", ["-fn", copy]).catch(({ stdout }) => ({ stdout }));
          expect(stdout).not.toMatch(/inode \d|Inode \d|differences|corrupt/);
          const [first, second] = (await sh(fork, "cat ~/first ~/second")).split("\n").map(Number);
          expect([first, (first ?? 0) - 1]).toContain(second);
          expect(second).toBeGreaterThanOrEqual(last);
          const CHECK = "cd ~; for d in d*; do test -s $d/sum -a -e $d/f && sha256sum -c $d/sum; done; true";
          const checked = (await sh(fork, CHECK)).trim().split("\n");
          expect(checked.filter((line) => !line.endsWith(": OK"))).toEqual([]);
          await fork.destroy();
          await rm(copy);
        }
        await parent.destroy();
      }
    } finally {
      await gateway.close();
    }
  });

  it("RE-1 lets the sandbox write again when hold dies while its disk is copied", async () => {
    await makeBlockStore(home, { bytes: 4 * GIB });
    // At the second place it is who copies that dies, with the sandbox's processes stopped.
    for (const dieAt of ["sharing", "still", "shared"]) {
      await run(given.boxd.path, ["hold", "--dir", engine(), "--die-at", dieAt]);
      const extension: Extension = createLocalExtension({ dir: engine() });
      const context = { installationId: newRowId("ins"), orgId: newRowId("org") };
      const box: Box = await extension.create(PLAIN_SPEC, { ...context, sandboxId: newSandboxId() });
      const write = async () => {
        const request = execRequestSchema.parse({ argv: ["sh", "-c", "echo x >> ~/f; sync; wc -l < ~/f"] });
        return Buffer.from((await collect(await box.exec(request, "att"))).stdout).toString();
      };
      expect(await write()).toBe("1\n");
      const layers = await extension.stop?.freeze(box.ref, context).catch(() => undefined);
      expect(layers, dieAt).toBeUndefined();
      expect(await write(), dieAt).toBe("2\n");
      await extension.destroy(box.ref, context);
      await vi.waitFor(async () => expect(await liveLayers()).toEqual([]), {
        timeout: 60_000,
        interval: 100,
      });
      await extension.close();
      endProcessesOf(engine());
      await vi.waitFor(
        async () => expect((await readdir(engine())).includes("hold.sock") && (await isHeld())).toBe(false),
        { timeout: 60_000, interval: 100 },
      );
    }
  });
  const isHeld = () =>
    run(given.boxd.path, ["hold", "--dir", engine(), "--idle-exit-ms", "1"]).then(
      () => false,
      ({ code }) => code === 3,
    );

  it("RE-1 is there as a whole or not at all, wherever the making of it dies", async () => {
    const outcomes: Record<string, string> = {};
    for (const dieAt of STORE_FAIL_POINTS) {
      home = join(place, dieAt);
      await mkdir(join(engine(), "images"), { recursive: true });
      await writeFile(join(engine(), "images/canary"), "kept\n");
      const child = spawn(process.execPath, [DOOMED, home, dieAt], { stdio: "ignore" });
      const signal = await new Promise((resolve) => child.once("exit", (_, signal) => resolve(signal)));
      expect([dieAt, signal]).toEqual([dieAt, "SIGKILL"]);
      await ensureBlockStore(home);
      expect(await readFile(join(engine(), "images/canary"), "utf8")).toBe("kept\n");
      const store = findBlockStore(home);
      outcomes[dieAt] = store ? "new" : "old";
      expect(store?.isMounted ?? true).toBe(true);
      // What was begun is no hindrance to doing it again.
      if (!store) await makeBlockStore(home, { bytes: GIB });
      expect(existsSync(join(home, "store.btrfs.new"))).toBe(false);
      expect(await readFile(join(engine(), "images/canary"), "utf8")).toBe("kept\n");
      await unmountBlockStore(home);
      expect(existsSync(join(engine(), "images"))).toBe(false);
    }
    expect(outcomes).toEqual({
      "store.drafted": "old",
      "store.formatted": "old",
      "store.filled": "old",
      "store.named": "new",
      "store.moved": "new",
      "store.mounted": "new",
    });
  });

  it("is not made under living sandboxes, nor twice, nor larger than the disk", async () => {
    await mkdir(join(engine(), "boxes/aaaaaaaaaaaaaaaaaaaa"), { recursive: true });
    await expect(makeBlockStore(home, { bytes: GIB })).rejects.toMatchObject({ code: "invalid_state" });
    await rm(join(engine(), "boxes"), { recursive: true });
    await expect(makeBlockStore(home, { bytes: 2 ** 50 })).rejects.toMatchObject({ code: "invalid_request" });
    await makeBlockStore(home, { bytes: GIB });
    await expect(makeBlockStore(home, { bytes: GIB })).rejects.toMatchObject({ code: "conflict" });
    await unmountBlockStore(home);
    expect(findBlockStore(home)).toMatchObject({ isMounted: false });
  });
});
