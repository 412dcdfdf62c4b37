import { createHash } from "node:crypto";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterEach, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { busyboxLayer, layoutArchive, makeImage } from "../images/image-maker.ts";
import { bringProbe, type Engine, openEngine, run, shell, start, withFolder } from "./engine.ts";
import { hostPidOf, initPidOf } from "./host-view.ts";

const { describe, given } = await requires("linux-userns", "boxd", "probe", "root");

const openIn = (pid: number): string[] =>
  readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));

const holdPidOf = (engine: Engine, ref: string): number =>
  Number(/^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${initPidOf(engine.dir, ref)}/status`, "utf8"))?.[1]);

describe("descriptors and the runtime's own binary", () => {
  let engine: Engine;
  const boxdPath = given.boxd?.path ?? "";
  afterEach(() => engine.close());

  it("FD-2 enters no folder by a descriptor", async () => {
    engine = await openEngine({ boxdPath });
    const box = await engine.create();
    for (let fd = 3; fd <= 64; fd++) {
      for (const cwd of [
        `/proc/self/fd/${fd}`,
        `/proc/self/fd/${fd}/../..`,
        `/proc/1/fd/${fd}`,
        `/dev/fd/${fd}`,
      ]) {
        await expect(start(box, { argv: ["pwd"], cwd }), cwd).rejects.toMatchObject({
          code: expect.stringMatching(/path_not_found|permission_denied|not_a_directory|invalid_request/),
        });
      }
    }
    for (const cwd of ["/proc/self/root", "/proc/1/root", "/proc/self/cwd", "/proc/1/cwd"]) {
      await expect(start(box, { argv: ["pwd"], cwd }), cwd).rejects.toThrow();
    }
    expect((await run(box, ["pwd"], { cwd: "/tmp/../usr" })).text, "control").toBe("/usr\n");
  });

  it("FD-2 is made with no folder by a descriptor, whoever asks for it", async () => {
    engine = await openEngine({ boxdPath });
    const ways = (last: number) =>
      Array.from({ length: last - 2 }, (_, at) => `/proc/self/fd/${at + 3}`)
        .flatMap((way) => [way, `${way}/../..`])
        .concat("/proc/self/root", "/proc/1/root", "/proc/1/cwd");
    await withFolder(async (source) => {
      const at = (target: string) => ({ source, target, mode: "read-write", allowSensitive: false }) as const;
      for (const way of ways(64)) {
        await expect(engine.create(undefined, {}, { workspace: at(way) }), way).rejects.toMatchObject({
          code: "invalid_request",
        });
      }
      const box = await engine.create(undefined, {}, { workspace: at("/site") });
      expect((await run(box, ["pwd"])).text, "control: a folder").toBe("/site\n");
    });
    const base = await busyboxLayer();
    const startOf = async (directory: string): Promise<string> => {
      const made = makeImage({
        layers: [base, [{ name: "srv/", type: "5", mode: 0o755 }]],
        config: { WorkingDir: directory },
      });
      await engine.extension.images?.import(parts(layoutArchive(made)), { name: "leads:1" });
      const box = await engine.create({ kind: "oci", ref: "leads:1" });
      const { text } = await shell(box, "pwd -P");
      await engine.destroy(box);
      return text;
    };
    for (const way of ways(9)) expect(await startOf(way), way).toBe("/home/user\n");
    expect(await startOf("/srv"), "control: an image's own").toBe("/srv\n");
  });

  it("FD-3 hands on nothing of what the engine was started with", async () => {
    await withFolder(async (folder) => {
      await mkdir(join(folder, "directory"));
      await writeFile(join(folder, "secret"), "secret");
      const before = Array.from(
        { length: 20 },
        (_, index) => `exec ${20 + index}<${folder}/${index % 2 ? "directory" : "secret"}`,
      );
      engine = await openEngine({ boxdPath, before });
      const box = await engine.create();
      const program = await start(box, { argv: ["sleep", "60"] });
      const first = initPidOf(engine.dir, box.ref);
      expect(openIn(first).filter((target) => target.includes(folder))).toEqual([]);
      expect(openIn(hostPidOf(first, program.pid ?? 0))).toHaveLength(3);
      const found = await shell(box, "cat /proc/*/fd/[2-9]* 2>/dev/null; ls -l /proc/*/fd");
      expect(found.text).not.toContain(folder);
      await program.signal("KILL");
    });
  });

  it("FD-4 cannot write the runtime's binary", async () => {
    engine = await openEngine({ boxdPath });
    const box = await engine.create();
    const probe = await bringProbe(box, given.probe.path);
    const binary = readlinkSync(`/proc/${initPidOf(engine.dir, box.ref)}/exe`);
    const hash = (): string => createHash("sha256").update(readFileSync(binary)).digest("hex");
    const before = hash();
    for (const user of ["user", "root"]) {
      const script = "for i in 1 2 3 4 5 6 7 8 9; do for p in /proc/*/exe; do echo x >> $p; done; done; true";
      await Promise.all([shell(box, script, { user }), run(box, ["true"]), run(box, ["true"])]);
      expect((await run(box, [probe, "call", "2", "@/proc/1/exe", "0"], { user })).text, user).toBe("13\n");
    }
    expect(hash()).toBe(before);
  });

  it("FD-5 grows by nothing over two hundred sandboxes", async () => {
    engine = await openEngine({ boxdPath });
    const kept = await engine.create();
    const [hold, first] = [holdPidOf(engine, kept.ref), initPidOf(engine.dir, kept.ref)];
    const cycle = async (): Promise<void> => {
      const box = await engine.create();
      await run(box, ["true"]);
      await run(kept, ["true"]);
      await engine.destroy(box);
    };
    for (let index = 0; index < 10; index++) await cycle();
    const grown = await growthOf({ hold, serve: first, client: process.pid });
    for (let index = 0; index < 200; index++) await cycle();
    await expect.poll(grown, SOON).toEqual([]);
  }, 300_000);

  it("FD-5 grows by nothing over a thousand commands, terminals and clients", async () => {
    engine = await openEngine({ boxdPath });
    const box = await engine.create();
    const [hold, first] = [holdPidOf(engine, box.ref), initPidOf(engine.dir, box.ref)];
    const cycle = async (index: number): Promise<void> => {
      const client = await engine.extension.attach(box.ref, { installationId: "any" });
      await run(client, ["true"], index % 2 ? { pty: { cols: 80, rows: 24 } } : {});
      client.close();
    };
    for (let index = 0; index < 10; index++) await cycle(index);
    const grown = await growthOf({ hold, serve: first, client: process.pid });
    for (let index = 0; index < 1_000; index++) await cycle(index);
    await expect.poll(grown, SOON).toEqual([]);
  }, 300_000);

  it("FD-5 control: what stays open is counted", async () => {
    engine = await openEngine({ boxdPath });
    const box = await engine.create();
    const first = initPidOf(engine.dir, box.ref);
    const before = readdirSync(`/proc/${first}/fd`).length;
    const clients = await Promise.all(
      Array.from({ length: 4 }, () => engine.extension.attach(box.ref, { installationId: "any" })),
    );
    expect(readdirSync(`/proc/${first}/fd`).length).toBeGreaterThan(before + 2);
    for (const client of clients) client.close();
  });
});

// The last clients' ends, and what is tidied up behind a sandbox, may still be on their way.
const SOON = { timeout: 60_000 };

/** Who has more than two descriptors more than now, whenever it is asked. */
async function growthOf(pids: Readonly<Record<string, number>>): Promise<() => string[]> {
  const count = () => Object.entries(pids).map(([name, pid]) => ({ name, has: countOf(pid) }));
  const before = await settled(count);
  return () =>
    count().flatMap(({ name, has }, at) => {
      const by = has - (before[at]?.has ?? 0);
      return by > 2 ? [`${name} by ${by}`] : [];
    });
}

const countOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

/** hold makes things ahead when nobody asks for anything: until then it has fewer. */
async function settled<T>(look: () => T): Promise<T> {
  for (let [seen, same] = [look(), 0]; ; ) {
    await setTimeout(100);
    const now = look();
    same = JSON.stringify(now) === JSON.stringify(seen) ? same + 1 : 0;
    seen = now;
    if (same === 5) return now;
  }
}

async function* parts(bytes: Uint8Array) {
  yield bytes;
}
