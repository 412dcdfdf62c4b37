import { existsSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Box,
  collect,
  type Extension,
  execRequestSchema,
  newRowId,
  newSandboxId,
} from "@sandboxer/contract";
import { createLocalExtension } from "@sandboxer/extensions/local";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { PLAIN_SPEC } from "../conformance/direct.ts";
import { removeEngine } from "../conformance/remove-engine.ts";
import { archiveOf, longOf, type Member, paxOf } from "./archive.ts";

const { describe } = await requires("linux-userns", "boxd");

const context = { installationId: newRowId("ins"), orgId: newRowId("org") };
const long = "x".repeat(150);

describe("hostile archives", () => {
  let dir: string;
  let extension: Extension;
  let box: Box;
  let number = 0;

  const sh = async (script: string, user = "user") => {
    const request = execRequestSchema.parse({ argv: ["sh", "-c", script], user });
    return Buffer.from((await collect(await box.exec(request, "att"))).stdout).toString();
  };
  /** Unpacks into a folder of its own beside a canary; says what came of it and what lies where. */
  const unpack = async (archive: Uint8Array, user?: string) => {
    const place = `/tmp/case-${++number}`;
    await sh(`mkdir -p ${place}/in ${place}/outside && echo canary > ${place}/outside/canary`, user);
    const outcome = await box.files.unpack(`${place}/in`, [archive], user ? { user } : {}).then(
      (unpacked) => unpacked,
      (error) => error.code as string,
    );
    const outside = await sh(`cd ${place} && find outside -printf '%p %y %n ' && cat outside/canary`, user);
    expect(outside, "what lies outside is as it was").toBe("outside d 2 outside/canary f 1 canary\n");
    return {
      outcome,
      inside: await sh(`cd ${place}/in && find . -mindepth 1 -printf '%P %y %m %U\\n' | sort`, user),
      place,
    };
  };

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "sandboxer-archives-"));
    extension = createLocalExtension({ dir });
    box = await extension.create(PLAIN_SPEC, { ...context, sandboxId: newSandboxId() });
  });
  afterAll(async () => {
    await extension.destroy(box.ref, context);
    await extension.close();
    await removeEngine(dir);
  });

  it("FS-1 control: an honest archive lands", async () => {
    const { outcome, inside } = await unpack(
      archiveOf([
        { name: "./", type: "5", mode: 0o755 },
        { name: "d/", type: "5", mode: 0o700 },
        { name: "d/file", content: "x".repeat(1000), mode: 0o640 },
        { name: "d/hard", type: "1", target: "d/file" },
        { name: "soft", type: "2", target: "d/file" },
      ]),
    );
    expect(outcome).toEqual({ entries: 5, bytes: 1000, skipped: 0 });
    expect(inside).toBe("d d 700 1000\nd/file f 640 1000\nd/hard f 640 1000\nsoft l 777 1000\n");
  });

  const refused: [string, (Member | Buffer)[]][] = [
    ["..", [{ name: "../outside/canary", content: "bad" }]],
    [".. within", [{ name: "a/../../outside/canary", content: "bad" }]],
    ["an absolute path", [{ name: "/tmp/outside-planted", content: "bad" }]],
    ["a PAX path", [paxOf({ path: "../outside/canary" }), { name: "harmless", content: "bad" }]],
    ["a PAX path that is absolute", [paxOf({ path: "/tmp/planted" }), { name: "harmless" }]],
    ["a GNU long name", [longOf("L", `../outside/${long}`), { name: "harmless", content: "bad" }]],
    [
      "a link, then through it",
      [
        { name: "l", type: "2", target: "../outside" },
        { name: "l/canary", content: "bad" },
      ],
    ],
    [
      "an absolute link, then through it",
      [
        { name: "l", type: "2", target: "/tmp" },
        { name: "l/planted", content: "bad" },
      ],
    ],
    [
      "a folder through a link",
      [
        { name: "l", type: "2", target: "../outside" },
        { name: "l/d", type: "5" },
      ],
    ],
    [
      "a link to a link",
      [
        { name: "a", type: "2", target: "../outside" },
        { name: "b", type: "2", target: "a" },
        { name: "b/canary", content: "bad" },
      ],
    ],
    [
      "a hard link out",
      [
        { name: "h", type: "1", target: "../outside/canary" },
        { name: "h", content: "bad" },
      ],
    ],
    ["an absolute hard link", [{ name: "h", type: "1", target: "/etc/passwd" }]],
    [
      "a hard link through a link",
      [
        { name: "l", type: "2", target: "../outside" },
        { name: "h", type: "1", target: "l/canary" },
      ],
    ],
    [
      "a hard link to a link",
      [
        { name: "l", type: "2", target: "../outside/canary" },
        { name: "h", type: "1", target: "l" },
      ],
    ],
    [
      "a PAX target",
      [paxOf({ linkpath: "../outside/canary" }), { name: "h", type: "1", target: "harmless" }],
    ],
    ["a GNU long target", [longOf("K", `../outside/${long}`), { name: "h", type: "1", target: "harmless" }]],
    ["no name at all", [{ name: "" }]],
    ["a name too long", [paxOf({ path: "d/".repeat(3000) }), { name: "x" }]],
    ["a path too deep", [paxOf({ path: "d/".repeat(300) }), { name: "x" }]],
    [
      "a record that lies about its length",
      [{ name: "pax", type: "x", content: "999 path=x\n" }, { name: "x" }],
    ],
    ["a negative size", [paxOf({ size: "-1" }), { name: "x" }]],
    ["a sparse file", [paxOf({ "GNU.sparse.major": "1" }), { name: "x" }]],
    ["GNU's sparse type", [{ name: "x", type: "S" }]],
    ["a size that says more than there is", [paxOf({ size: "99999999" }), { name: "x", content: "short" }]],
    ["a size of petabytes", [paxOf({ size: "9999999999999999" }), { name: "x", content: "short" }]],
    [
      "a folder where a file is",
      [
        { name: "x", content: "1" },
        { name: "x/y", content: "2" },
      ],
    ],
  ];

  it.each(refused)("FS-1 refuses %s, and touches nothing outside", async (_, members) => {
    const { outcome, inside } = await unpack(archiveOf(members));
    expect(["invalid_request", "not_a_directory", "storage_full", "path_not_found"]).toContain(outcome);
    expect(inside).not.toContain("planted");
    expect(existsSync("/tmp/planted") || existsSync("/tmp/outside-planted")).toBe(false);
    expect(await sh("ls /tmp/planted /tmp/outside-planted 2>/dev/null")).toBe("");
  });

  it("FS-1 replaces a link instead of writing through it", async () => {
    const members = [
      { name: "x", type: "2", target: "../outside/canary" },
      { name: "x", content: "mine" },
    ];
    const { outcome, place } = await unpack(archiveOf(members));
    expect(outcome).toMatchObject({ entries: 2 });
    expect(await sh(`cat ${place}/in/x; stat -c %F ${place}/in/x`)).toBe("mineregular file\n");
  });

  it("FS-1 does not follow a link that was there before, as another's name for a folder", async () => {
    const place = "/tmp/planted-before";
    await sh(`mkdir -p ${place}/in ${place}/outside && ln -s ../outside ${place}/in/d`);
    const outcome = box.files.unpack(`${place}/in`, [archiveOf([{ name: "d/x", content: "bad" }])]);
    await expect(outcome).rejects.toMatchObject({ code: "invalid_request" });
    expect(await sh(`ls ${place}/outside`)).toBe("");
  });

  it("FS-1 takes odd but harmless names as they are", async () => {
    const names = ["C:..", "a\\b", "-rf", "...", "dots..", "e\u0301", "\u00e9", "A", "a"];
    const { outcome, inside } = await unpack(archiveOf(names.map((name) => ({ name, content: "x" }))));
    expect(outcome).toMatchObject({ entries: names.length, skipped: 0 });
    expect(inside.trim().split("\n")).toHaveLength(names.length);
  });

  it("FS-1 stops at the end of an archive, whatever is glued to it", async () => {
    const both = Buffer.concat([
      archiveOf([{ name: "first", content: "1" }]),
      archiveOf([{ name: "../outside/canary", content: "bad" }]),
    ]);
    const { outcome, inside } = await unpack(both);
    expect(outcome).toMatchObject({ entries: 1 });
    expect(inside).toBe("first f 644 1000\n");
  });

  it("FS-1 refuses an archive that is cut off anywhere", async () => {
    const whole = archiveOf([{ name: "a", content: "x".repeat(700) }], { isWhole: false });
    for (const length of [0, 1, 511, 512, 513, 1000, 1536]) {
      expect((await unpack(whole.subarray(0, length))).outcome, `${length} bytes`).toBe("invalid_request");
    }
  });

  it("FS-2 makes no device, pipe or other special thing, and no link to one", async () => {
    const types = ["3", "4", "6", "7", "V", "D"];
    const { outcome, inside } = await unpack(archiveOf(types.map((type) => ({ name: `t${type}`, type }))));
    expect(outcome).toMatchObject({ entries: 6, skipped: 5 });
    expect(inside).toBe("t7 f 644 1000\n");
  });

  it("FS-2 drops setuid bits, owners and capabilities for everybody but root", async () => {
    const capability = paxOf({ "SCHILY.xattr.security.capability": "\x01\x00\x00\x02" });
    const members = [{ name: "suid", mode: 0o6755, uid: 0 }, capability, { name: "cap", uid: 0 }];
    const { outcome, inside, place } = await unpack(archiveOf(members));
    expect(outcome).toMatchObject({ entries: 2 });
    expect(inside).toBe("cap f 644 1000\nsuid f 755 1000\n");
    expect(Object.keys(await box.files.xattrs(`${place}/in/cap`))).toEqual([]);
  });

  it("FS-2 gives a root engine's root the owners and modes it asks for, inside", async ({ skip }) => {
    if (process.getuid?.() !== 0) skip("the sandbox of an ordinary user has one id");
    const members = [
      { name: "suid", mode: 0o4755, uid: 1000 },
      { name: "nobody-has-it", uid: 2_000_000 },
    ];
    const { outcome, inside } = await unpack(archiveOf(members), "root");
    expect(outcome).toMatchObject({ entries: 2 });
    expect(inside).toBe("nobody-has-it f 644 0\nsuid f 4755 1000\n");
  });

  it("FS-3 unpacks with the user's rights", async () => {
    await expect(box.files.unpack("/etc", [archiveOf([{ name: "planted" }])])).rejects.toMatchObject({
      code: "permission_denied",
    });
  });
});
