import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Box, type Image, newSandboxId } from "@sandboxer/contract";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { PLAIN_SPEC } from "../conformance/direct.ts";
import { openEngine, shell } from "../security/engine.ts";
import { busyboxLayer } from "./image-maker.ts";
import { type Lab, openLab } from "./lab.ts";

const { describe, given } = await requires("linux-userns", "boxd");
const debian = await requires("linux-userns", "boxd", "mmdebstrap");

vi.setConfig({ testTimeout: 180_000, hookTimeout: 300_000 });

const within = async <T>(
  { extension, context }: Lab,
  image: Image,
  work: (box: Box) => Promise<T>,
): Promise<T> => {
  const box = await extension.create({ ...PLAIN_SPEC, image }, { ...context, sandboxId: newSandboxId() });
  try {
    return await work(box);
  } finally {
    box.close();
    await extension.destroy(box.ref, context);
  }
};

describe("a root of the caller's", () => {
  let lab: Lab;
  let place: string;

  beforeAll(async () => {
    lab = await openLab();
    place = await mkdtemp(join(tmpdir(), "sandboxer-root-"));
    await chmod(place, 0o755);
    await writeFile(join(place, "root.tar"), await busyboxLayer());
    await mkdir(join(place, "root"));
    await promisify(execFile)("tar", ["-xf", join(place, "root.tar"), "-C", join(place, "root")]);
    await chmod(join(place, "root"), 0o755);
  });
  afterAll(async () => {
    await lab?.close();
    await rm(place, { recursive: true, force: true });
  });

  it("is a folder, or an archive that is unpacked once and anew when it changes", async () => {
    const said = (path: string) =>
      within(
        lab,
        { kind: "rootfs", path },
        async (box) => (await shell(box, "id -un; busybox | head -c 7")).text,
      );
    expect(await said(join(place, "root"))).toBe("user\nBusyBox");
    const archive = join(place, "root.tar");
    expect(await said(archive)).toBe("user\nBusyBox");
    await said(archive);
    expect((await lab.images.list()).map(({ names }) => names.length)).toEqual([1]);
    await utimes(archive, 1, 1);
    await said(archive);
    expect((await lab.images.list()).map(({ names }) => names.length)).toEqual([2]);
  });

  it("FS-5 is nothing that holds keys, the system or a whole home, under no name", async () => {
    const alias = join(place, "alias");
    await symlink("/etc", alias);
    await mkdir(join(lab.place, "engine"), { recursive: true, mode: 0o700 });
    await writeFile(join(lab.place, "engine/secret.tar"), "");
    const bad = [
      "/",
      "/etc",
      "/etc/ssl",
      "/root",
      "/home",
      "/var",
      alias,
      `${alias}/ssl`,
      lab.place,
      join(lab.place, "engine"),
      join(lab.place, "engine/secret.tar"),
      "/etc/passwd",
    ];
    for (const path of bad) {
      const attempt = within(lab, { kind: "rootfs", path }, async () => {});
      await expect(attempt, path).rejects.toMatchObject({
        code: "policy_denied",
        message: expect.stringContaining("cannot be"),
      });
    }
    const nothing = within(lab, { kind: "rootfs", path: join(place, "nothing") }, async () => {});
    await expect(nothing).rejects.toMatchObject({ code: "invalid_request" });
    await within(lab, { kind: "rootfs", path: join(place, "root") }, async () => {});
  });

  it("FS-5 is refused to an ordinary user's engine as well, and judged as that user sees it", async () => {
    const owner = { uid: 54_321, gid: 54_321 };
    const engine = await openEngine({
      boxdPath: given.boxd.path,
      ...(process.getuid?.() === 0 && { owner }),
    });
    const root = { kind: "rootfs", path: join(place, "root") } as const;
    try {
      await expect(engine.create({ kind: "rootfs", path: "/etc" })).rejects.toMatchObject({
        code: "policy_denied",
      });
      const box = await engine.create(root);
      expect((await shell(box, "echo control")).text).toBe("control\n");
    } finally {
      await engine.close();
    }
  });
});

/** Makes a package, installs it with apt, uses it, removes it. */
const APT = `
set -e
cd $(mktemp -d) && mkdir -p p/DEBIAN p/usr/bin
printf 'Package: hello-box\\nVersion: 1.0\\nArchitecture: all\\nMaintainer: a <a@example.com>\\nDescription: x\\n' > p/DEBIAN/control
printf '#!/bin/sh\\nadduser --quiet --system --group hellobox\\nchown hellobox /usr/bin/hello-box\\n' > p/DEBIAN/postinst
printf '#!/bin/sh\\necho hello\\n' > p/usr/bin/hello-box
chmod 755 . p/DEBIAN/postinst p/usr/bin/hello-box
dpkg-deb -b --root-owner-group p hello.deb >/dev/null
apt-get install -yqq ./hello.deb >/dev/null
hello-box; stat -c %U /usr/bin/hello-box
apt-get remove -yqq hello-box >/dev/null
if test -e /usr/bin/hello-box; then exit 1; fi
`;

debian.describe("a Debian that mmdebstrap made", () => {
  it("boots, and its root installs and removes packages", async () => {
    const lab = await openLab();
    try {
      const path = debian.given.mmdebstrap.archive;
      const { text, errors } = await within(lab, { kind: "rootfs", path }, (box) =>
        shell(box, `sudo sh -c '${APT.replaceAll("'", "'\\''")}'`),
      );
      expect(text, errors).toBe("hello\nhellobox\n");
      const [kept] = await lab.images.list();
      expect(kept?.skipped, "devices were left out").toBeGreaterThan(0);
      expect(kept?.stripped, "no program is set-user-id").toBeGreaterThan(0);
      expect(
        (await within(lab, { kind: "rootfs", path }, (box) => shell(box, "hello-box"))).exit,
      ).toMatchObject({ code: 127 });
    } finally {
      await lab.close();
    }
  });
});
