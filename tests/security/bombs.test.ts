import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { type Gateway, openGateway, silent } from "@sandboxer/gateway";
import { type Client, createClient, type Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { configSchema } from "../../apps/gateway/src/config/schema.ts";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "../conformance/remove-engine.ts";
import { layoutArchive, makeImage } from "../images/image-maker.ts";
import { archiveOf } from "./archive.ts";
import { tenGigabytes, tenMillion, tenMillionTimes, watched, zeros, zerosInGzip } from "./bombs.ts";
import { treeHash } from "./tree-hash.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

const MOST_MIB = 16;
const MIB = 2 ** 20;
const BLOB = `blobs/sha256/${"0".repeat(64)}`;

describe("RL-10 archives that grow", () => {
  let place: string;
  let home: string;
  let gateway: Gateway;
  let client: Client;
  let box: Sandbox;

  const sh = async (sandbox: Sandbox, script: string) =>
    new TextDecoder().decode((await sandbox.run(["sh", "-c", script])).stdout);
  /** All that a refused archive could have left. */
  const left = async () => {
    const rooms = ["drafts", "layers", "names", "records"].map((room) => `engine/images/oci/${room}`);
    const found = [...rooms, "snapshots"].map((room) => readdir(join(home, room)).catch(() => []));
    return (await Promise.all(found)).flat();
  };
  const refuses = async (code: string, work: Promise<unknown>, what?: string) => {
    await expect(work, what).rejects.toMatchObject({ code });
    expect(await left(), what).toEqual([]);
  };
  const deep = (count: number) =>
    `import os\nos.chdir('/home/user')\nfor _ in range(${count}):\n os.mkdir('d')\n os.chdir('d')\nopen('f', 'w')`;

  beforeAll(async () => {
    place = await mkdtemp(join(tmpdir(), "sandboxer-bombs-"));
    home = join(place, "home");
    const config = configSchema.parse({
      images: { maximumLayerMiB: MOST_MIB },
      snapshots: { maximumMiB: MOST_MIB },
    });
    gateway = await openGateway({ home, config, listen: false, log: silent });
    client = createClient({ url: "http://localhost", apiKey: gateway.apiKey, fetch: gateway.fetch });
    box = await client.sandboxes.create({ resources: { diskMiB: 64, diskInodes: 2_048 } });
  });
  afterAll(async () => {
    for await (const one of client.sandboxes.all({ states: ["running"] })) await one.destroy();
    await gateway?.close();
    await removeEngine(join(home, "engine"), place);
  });

  it("ten gigabytes of zeros in ten megabytes are no image, however they are wrapped", async () => {
    const rootfs = { name: "bomb", kind: "rootfs" } as const;
    const bomb = zerosInGzip(tenGigabytes("big"));
    expect(bomb.length / MIB, "control: it is as small as that").toBeLessThan(12);
    await refuses("storage_full", client.images.import([bomb], rootfs), "one file");
    const behind = zerosInGzip(archiveOf([{ name: "ok" }]));
    await refuses("storage_full", client.images.import([behind], rootfs), "behind the end");
    await refuses("storage_full", client.images.import([bomb], { name: "bomb" }), "an image's archive");
    await refuses("storage_full", client.images.import([behind], { name: "bomb" }), "behind that one's end");
    const image = layoutArchive(makeImage({ layers: [behind], compression: "none" }));
    await refuses("storage_full", client.images.import([image], { name: "bomb" }), "a layer");
    const honest = archiveOf([{ name: "ok", content: Buffer.alloc(MIB) }]);
    const kept = await client.images.import([gzipSync(honest)], rootfs);
    expect(kept.names, "control: what is within the limit").toEqual(["bomb:latest"]);
    await client.images.remove("bomb");
    await client.images.prune();
  });

  it("ten gigabytes of zeros are no snapshot", async () => {
    const fuse = { bytes: 0 };
    const wrapped = zerosInGzip(tenGigabytes(BLOB));
    await refuses("invalid_request", client.snapshots.import([wrapped]), "compressed");
    await refuses("storage_full", client.snapshots.import(watched(fuse, zeros(tenGigabytes(BLOB)))));
    await refuses("invalid_request", client.snapshots.import(watched(fuse, zeros(Buffer.alloc(512)))));
    expect(fuse.bytes / MIB).toBeLessThan(200);
  });

  it("ten gigabytes of zeros fill a sandbox's disk, and nothing else", async ({ skip }) => {
    if (process.getuid?.() !== 0) skip("only root's sandboxes have disks of their own");
    const fuse = { bytes: 0 };
    const upload = box.files.unpack("/home/user/big", watched(fuse, zeros(tenGigabytes("big"))), {
      parents: true,
    });
    await expect(upload).rejects.toMatchObject({ code: "storage_full" });
    expect(fuse.bytes / MIB).toBeLessThan(500);
    expect(Number(await sh(box, "du -m ~ | tail -1 | cut -f1"))).toBeLessThanOrEqual(64);
    await box.files.remove("/home/user/big", { recursive: true });
    const wrapped = box.files.unpack("/home/user/big", [zerosInGzip(tenGigabytes("big"))], { parents: true });
    await expect(wrapped, "what is compressed is no archive here").rejects.toMatchObject({
      code: "invalid_request",
    });
    await sh(box, "rm -rf ~/big; echo fine > ~/fine");
    expect(await sh(box, "cat ~/fine"), "control: it has room again").toBe("fine\n");
  });

  it("ten million entries are no image and no snapshot", async () => {
    const fuse = { bytes: 0 };
    const files = () =>
      watched(
        fuse,
        tenMillion((at) => ({ name: `f${at}` })),
      );
    await refuses("storage_full", client.images.import(files(), { name: "bomb", kind: "rootfs" }));
    await refuses("storage_full", client.images.import(files(), { name: "bomb" }), "an image's archive");
    const blobs = tenMillion((at) => ({ name: `blobs/sha256/${at.toString(16).padStart(64, "0")}` }));
    await refuses("invalid_request", client.snapshots.import(watched(fuse, blobs)));
    expect(fuse.bytes / MIB).toBeLessThan(100);
  });

  it("ten million entries stop at what an upload and a disk may hold", async ({ skip }) => {
    const fuse = { bytes: 0 };
    const nothing = tenMillionTimes({ name: "device", type: "3" });
    const devices = box.files.unpack("/home/user/many", watched(fuse, nothing), { parents: true });
    await expect(devices).rejects.toMatchObject({ code: "storage_full", message: /1000000 entries/ });
    expect(await sh(box, "ls -A ~/many")).toBe("");
    if (process.getuid?.() !== 0) skip("only root's sandboxes have disks of their own");
    const files = watched(
      fuse,
      tenMillion((at) => ({ name: `f${at}` })),
    );
    await expect(box.files.unpack("/home/user/many", files)).rejects.toMatchObject({ code: "storage_full" });
    expect(Number(await sh(box, "ls ~/many | wc -l"))).toBeLessThan(2_048);
    await box.files.remove("/home/user/many", { recursive: true });
    await box.files.write("/home/user/fine", "control: there is room again");
  });

  it("a file with holes is as large as it says: no snapshot and no apply write it out", async () => {
    const project = join(place, "project");
    await mkdir(project);
    await writeFile(join(project, "notes"), "notes\n");
    const before = await treeHash(project);
    const worker = await client.sandboxes.create({ workspace: { source: project, mode: "copy-on-write" } });
    await sh(worker, "truncate -s 20G hole; truncate -s 20G ~/hole");
    await refuses("storage_full", worker.snapshot());
    await refuses("storage_full", worker.workspace.apply());
    expect(await treeHash(project)).toBe(before);
    await sh(worker, "rm hole ~/hole; echo more > more");
    expect(await worker.workspace.apply(), "control: without it").toMatchObject({ applied: 1 });
    await client.snapshots.delete((await worker.snapshot()).id);
    await worker.destroy();
  });

  it("folders 5,000 deep are in no snapshot, and go with their sandbox", async () => {
    const one = await client.sandboxes.create({});
    expect((await one.run(["python3", "-c", deep(5_000)])).exit).toMatchObject({ code: 0 });
    await refuses("invalid_request", one.snapshot());
    expect(await sh(one, "echo alive"), "it goes on").toBe("alive\n");
    await one.files.remove("/home/user/d", { recursive: true });
    expect(await sh(one, "ls -A ~")).not.toContain("d");
    await one.run(["python3", "-c", deep(5_000)]);
    await one.destroy();
    const gone = () => [`boxes/${one.id}`, "trash"].map((name) => join(home, "engine", name));
    await expect
      .poll(async () => (existsSync(gone()[0] ?? "") ? ["box"] : readdir(gone()[1] ?? "").catch(() => [])), {
        timeout: 60_000,
      })
      .toEqual([]);
  });

  it("what is too deep to be restored is too deep to be taken; what is not is restored", async () => {
    const one = await client.sandboxes.create({});
    // home, user, the folders and the file in the last of them
    await one.run(["python3", "-c", deep(254)]);
    await refuses("invalid_request", one.snapshot());
    await one.files.remove("/home/user/d", { recursive: true });
    await one.run(["python3", "-c", deep(253)]);
    const { id } = await one.snapshot();
    const copy = await client.sandboxes.create({ from: id });
    expect(await sh(copy, "find ~/d -name f | wc -l"), "control").toBe("1\n");
    await client.snapshots.delete(id);
    for (const sandbox of [one, copy]) await sandbox.destroy();
  });
});
