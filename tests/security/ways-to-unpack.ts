import { execFile } from "node:child_process";
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { lstat, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { findBoxd } from "@sandboxer/extensions/boxd";
import type { Client, Sandbox } from "@sandboxer/sdk";
import { landArchive } from "../../apps/cli/src/tar/land.ts";
import { packLayout } from "../../packages/core/src/snapshots/archive.ts";
import { fingerprintOf } from "../../packages/core/src/snapshots/digest.ts";
import { writeLayout } from "../../packages/core/src/snapshots/layout.ts";
import { layoutArchive, makeImage } from "../images/image-maker.ts";

/** One of the doors that take an archive from somebody else. */
export interface WayIn {
  readonly name: string;
  /**
   * `tree`: what is unpacked is what is in it. `description`: only files of known names are taken.
   * `changes`: things that cannot be brought back are left out, and the rest is taken.
   */
  readonly takes: "tree" | "description" | "changes";
  /** Rejects with a typed error where it is refused. */
  take(archive: Buffer): Promise<unknown>;
}

export interface Rooms {
  readonly client: Client;
  readonly home: string;
  /** Holds `in`, where things are unpacked to, and `outside`. */
  readonly place: string;
  /** For what lies on the host. */
  readonly aside: string;
  /** Has folders of the same names. */
  readonly box: Sandbox;
  /** Works copy-on-write on `in`. */
  readonly worker: Sandbox;
}

async function* inParts(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 4_000) yield bytes.subarray(at, at + 4_000);
}

export const waysIn = (rooms: Rooms): WayIn[] => [
  ...intoSandboxes(rooms),
  ...intoImages(rooms),
  ...intoSnapshots(rooms),
  ...intoFolders(rooms),
];

function intoSandboxes({ place, box }: Rooms): WayIn[] {
  const folder = join(place, "in");
  return [
    { name: "an upload", takes: "tree", take: (archive) => box.files.unpack(folder, [archive]) },
    {
      name: "an upload as root",
      takes: "tree",
      take: (archive) => box.files.unpack(folder, [archive], { user: "root" }),
    },
  ];
}

function intoImages({ client, aside }: Rooms): WayIn[] {
  const importing = async (archive: Buffer, kind?: "rootfs") => {
    await client.images.import(inParts(archive), { name: "hostile", ...(kind && { kind }) });
    await client.images.remove("hostile");
    await client.images.prune();
  };
  return [
    { name: "a rootfs that is imported", takes: "tree", take: (archive) => importing(archive, "rootfs") },
    {
      name: "a layer of an image",
      takes: "tree",
      take: (archive) => importing(layoutArchive(makeImage({ layers: [archive] }))),
    },
    { name: "an image's own archive", takes: "description", take: (archive) => importing(archive) },
    {
      name: "a rootfs tarball that is named",
      takes: "tree",
      async take(archive) {
        const path = join(aside, "rootfs.tar");
        await rm(path, { force: true });
        await writeFile(path, archive);
        const create = client.sandboxes.create({ image: { kind: "rootfs", path }, ttlMs: 60_000 });
        const made = await create.catch((error) => error as Error);
        const [image] = await client.images.list();
        if (!(made instanceof Error)) await made.destroy();
        // There is too little in it to run, but it was taken in.
        if (!image) throw made;
        for (const name of image.names) await client.images.remove(name);
        await client.images.prune();
      },
    },
  ];
}

function intoSnapshots({ client, aside }: Rooms): WayIn[] {
  return [
    {
      name: "a snapshot's own archive",
      takes: "description",
      take: (archive) => client.snapshots.import([archive]),
    },
    {
      name: "a layer of a snapshot, signed by somebody who is trusted",
      takes: "tree",
      async take(archive) {
        const { bytes, trust } = await snapshotOf(aside, archive);
        const { id } = await client.snapshots.import(bytes, { trust });
        try {
          await (await client.sandboxes.create({ from: id, ttlMs: 60_000 })).destroy();
        } finally {
          await client.snapshots.delete(id);
        }
      },
    },
  ];
}

function intoFolders({ home, place, worker }: Rooms): WayIn[] {
  const folder = join(place, "in");
  return [
    {
      name: "what a sandbox sends to be applied",
      takes: "changes",
      take: (archive) =>
        boxd(["apply", "--box", join(home, "engine/boxes", worker.id)], { force: true }, archive),
    },
    {
      name: "what a mirror brings back",
      takes: "changes",
      async take(archive) {
        const { dev, ino, uid, gid } = await lstat(folder, { bigint: true });
        const ids = { uid: Number(uid), gid: Number(gid) };
        const pinned = { source: folder, device: String(dev), inode: String(ino), ...ids };
        const take = WANTED.map((path) => ({ path }));
        return boxd(["apply", "--mirror", home], { ...pinned, bytes: 1e6, take, gone: [] }, archive);
      },
    },
    {
      name: "what is copied out of a sandbox",
      takes: "changes",
      take: (archive) => landArchive(inParts(archive), folder),
    },
  ];
}

/** All that anything in the corpus is called; a mirror takes what it has asked for alone. */
const WANTED = [
  "ok",
  "a",
  "b",
  "l",
  "h",
  "x",
  "x/canary",
  "l/canary",
  "l/new",
  "suid",
  "sgid",
  "cap",
  "first",
];

/** As another installation would export it. */
async function snapshotOf(aside: string, layer: Buffer) {
  const dir = await mkdtemp(join(aside, "signed-"));
  const { privateKey } = generateKeyPairSync("ed25519");
  async function* layers() {
    yield { kind: "root" as const, data: inParts(layer) };
  }
  await writeLayout(dir, layers(), { kind: "host" }, privateKey);
  const parts: Uint8Array[] = [];
  for await (const part of packLayout(dir)) parts.push(part);
  await rm(dir, { recursive: true });
  return { bytes: parts, trust: fingerprintOf(createPublicKey(privateKey)) };
}

/** What a sandbox sends need not be what an honest one would: boxd is given it as it is. */
async function boxd(args: readonly string[], header: object, archive: Buffer): Promise<unknown> {
  const child = execFile(findBoxd(), args, { encoding: "utf8" });
  let said = "";
  child.stdout?.on("data", (part: string) => {
    said += part;
  });
  child.stdin?.on("error", () => {});
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  child.stdin?.end(Buffer.concat([length, text, archive]));
  await once(child, "close");
  const answer = JSON.parse(said) as { failure?: { code: string } };
  if (answer.failure) throw Object.assign(new Error("refused"), answer.failure);
  return answer;
}
