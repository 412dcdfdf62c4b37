import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { archiveOf, longOf, type Member, paxOf } from "../security/archive.ts";
import { treeHash } from "../security/tree-hash.ts";
import { dockerArchive, layoutArchive, makeImage } from "./image-maker.ts";
import { inParts, type Lab, openLab } from "./lab.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

const link = (name: string, target: string): Member => ({ name, type: "2", target });
const MOST_MIB = 4;

describe("hostile layers", () => {
  let lab: Lab;
  let outside: string;
  let before: string;

  beforeAll(async () => {
    lab = await openLab({ maximumLayerMiB: MOST_MIB });
    outside = mkdtempSync(join(tmpdir(), "sandboxer-canary-"));
    mkdirSync(join(outside, "folder"));
    writeFileSync(join(outside, "folder/file"), "canary");
    symlinkSync("folder", join(outside, "link"));
    before = await treeHash(outside);
  });
  afterAll(async () => {
    await lab?.close();
    rmSync(outside, { recursive: true, force: true });
  });

  const cases: [string, () => Buffer][] = [
    ["FS-1 a name that is absolute", () => archiveOf([{ name: `${outside}/folder/file`, content: "bad" }])],
    ["FS-1 a name that leads out", () => archiveOf([{ name: `${"../".repeat(12)}${outside}/new` }])],
    [
      "FS-1 a PAX name that leads out",
      () => archiveOf([paxOf({ path: `../../..${outside}/x` }), { name: "ok" }]),
    ],
    [
      "FS-1 a GNU name that leads out",
      () => archiveOf([longOf("L", `../../../..${outside}/x`), { name: "ok" }]),
    ],
    [
      "FS-2 a way through a link",
      () => archiveOf([link("l", outside), { name: "l/folder/file", content: "bad" }]),
    ],
    ["FS-2 a folder in a link's place", () => archiveOf([link("l", outside), { name: "l/new/", type: "5" }])],
    ["FS-2 a whiteout through a link", () => archiveOf([link("l", outside), { name: "l/.wh.folder" }])],
    ["FS-2 an opaque mark through a link", () => archiveOf([link("l", outside), { name: "l/.wh..wh..opq" }])],
    [
      "FS-2 a hard link to the host",
      () => archiveOf([{ name: "h", type: "1", target: `${outside}/folder/file` }]),
    ],
    [
      "FS-2 a hard link through a link",
      () => archiveOf([link("l", outside), { name: "h", type: "1", target: "l/folder/file" }]),
    ],
    [
      "RL-10 more bytes than allowed",
      () => archiveOf([{ name: "big", content: Buffer.alloc((MOST_MIB + 1) << 20) }]),
    ],
    ["RL-10 a size that is a lie", () => archiveOf([{ name: "big", size: 2 ** 32 }])],
    [
      "RL-10 a bomb behind the end",
      () => Buffer.concat([archiveOf([{ name: "ok" }]), Buffer.alloc(64 << 20)]),
    ],
    ["RL-10 a depth without an end", () => archiveOf([longOf("L", `${"d/".repeat(400)}f`), { name: "f" }])],
    [
      "an archive that is cut off",
      () => archiveOf([{ name: "a", content: "x".repeat(600) }], { isWhole: false }),
    ],
    ["no archive at all", () => Buffer.from("x".repeat(5_000))],
    ["nothing", () => Buffer.alloc(0)],
  ];

  it.each(cases)("%s is refused, touches nothing outside, and leaves nothing", async (_, make) => {
    for (const bytes of [make(), gzipSync(make())]) {
      const taking = lab.images.import(inParts(bytes), { name: "bad", kind: "rootfs" });
      await expect(taking).rejects.toMatchObject({
        code: expect.stringMatching(
          /^(invalid_request|storage_full|path_not_found|not_a_directory|permission_denied|extension_failed)$/,
        ),
      });
      expect(await lab.left()).toEqual([]);
      expect(await treeHash(outside)).toBe(before);
    }
  });

  it("control: what only looks so is kept, without devices and set-user-id bits", async () => {
    const members: Member[] = [
      { name: "...", content: "fine" },
      link("away", outside),
      { name: "tool", mode: 0o6755, content: "x" },
      { name: "shared/", type: "5", mode: 0o2775 },
      { name: "null", type: "3" },
      { name: "pipe", type: "6" },
    ];
    const image = await lab.images.import(inParts(archiveOf(members)), { name: "good", kind: "rootfs" });
    expect(image).toMatchObject({ skipped: 2, stripped: 1, layers: 1 });
    expect(await treeHash(outside)).toBe(before);
    await lab.images.remove("good");
    expect(await lab.left()).toEqual([]);
  });

  it("FS-2 archives whose parts are links, missing or others than they say are refused", async () => {
    const image = makeImage({ layers: [[{ name: "a" }]] });
    const [layer] = image.layers;
    const blob = `blobs/sha256/${layer?.digest.slice(7)}`;
    const tampered = layoutArchive({
      ...image,
      blobs: new Map(
        [...image.blobs].map(([digest, bytes]) => [
          digest,
          digest === layer?.digest ? gzipSync(archiveOf([{ name: "other" }])) : bytes,
        ]),
      ),
    });
    const linked = Buffer.concat([
      archiveOf([link("blobs", outside)], { isWhole: false }),
      layoutArchive(image),
    ]);
    const config = { name: "manifest.json", content: JSON.stringify([{ Config: "c", Layers: [] }]) };
    const bad: [string, Buffer][] = [
      ["a layer that was changed", tampered],
      ["a way through a link", linked],
      ["a configuration that is a link", archiveOf([config, link("c", "/etc/passwd")])],
      [
        "a configuration above",
        archiveOf([{ ...config, content: config.content.replace('"c"', '"../../c"') }]),
      ],
      ["a layer that is a link", archiveOf([link(blob, "/etc/passwd")])],
      ["no manifest", archiveOf([{ name: "oci-layout", content: "{}" }])],
    ];
    for (const [what, bytes] of bad) {
      const taking = lab.images.import(inParts(bytes), { name: "bad" });
      await expect(taking, what).rejects.toMatchObject({
        code: expect.stringMatching(/invalid_request|extension_failed|not_a_directory|permission_denied/),
      });
      expect(await lab.left(), what).toEqual([]);
    }
    const control = await lab.images.import(inParts(dockerArchive(image, "good:1")), {});
    expect(control.names).toEqual(["good:1"]);
    await lab.images.remove("good:1");
  });
});
