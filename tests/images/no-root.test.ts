import { type Box, newSandboxId } from "@sandboxer/contract";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { PLAIN_SPEC } from "../conformance/direct.ts";
import { shell } from "../security/engine.ts";
import { busyboxLayer, layoutArchive, makeImage } from "./image-maker.ts";
import { inParts, type Lab, openLab } from "./lab.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 });

describe("an image that names no root", () => {
  let lab: Lab;

  beforeAll(async () => {
    lab = await openLab();
    const passwd = { name: "etc/passwd", content: "app:x:77:77::/srv:/bin/sh" };
    const group = { name: "etc/group", content: "" };
    const image = makeImage({ layers: [await busyboxLayer(), [passwd, group]] });
    await lab.images.import(inParts(layoutArchive(image)), { name: "nobody" });
  });
  afterAll(() => lab?.close());

  const create = async (root: "allowed" | "denied" = "allowed") => {
    const { extension, context } = lab;
    const spec = { ...PLAIN_SPEC, root, image: { kind: "oci", ref: "nobody" } as const };
    return extension.create(spec, { ...context, sandboxId: newSandboxId() });
  };

  it("is given one, where there are ids for it", async () => {
    const box = await create();
    const { text } = await shell(box, "cat /etc/passwd; id -un");
    expect(text).toMatch(/^user:x:1000:.*\nuser\n$/ms);
    if (!(await hasIds(box))) return;
    expect(text.split("\n").filter((line) => line.startsWith("root:x:0:0:"))).toHaveLength(1);
    const asRoot = await shell(box, "id -un; touch /etc/mine && stat -c %u /etc/mine", { user: "root" });
    expect(asRoot.text).toBe("root\n0\n");
  });

  it.each(["allowed", "denied"] as const)(
    "is where its snapshots go back to, root being %s",
    async (root) => {
      const first = await create();
      const user = (await hasIds(first)) ? "root" : "user";
      await shell(first, "echo kept > /etc/kept; chmod 600 /etc/kept", { user });
      const layer = await first.snapshots?.capture("root");
      const second = await create(root);
      await second.snapshots?.restore("root", layer as AsyncIterable<Uint8Array>);
      expect((await shell(second, "stat -c '%a %U' /etc/kept; grep -c user /etc/group")).text).toBe(
        `600 ${user}\n1\n`,
      );
      expect((await shell(second, "grep -c root: /etc/passwd")).text).toBe(user === "root" ? "1\n" : "0\n");
    },
  );

  it("is where they go back to, also when somebody took root away inside", async () => {
    const first = await create();
    if (!(await hasIds(first))) return;
    await shell(first, "echo kept > /root-only", { user: "root" });
    const layer = await first.snapshots?.capture("root");
    const second = await create();
    await shell(second, "sed -i '/^root:/d' /etc/passwd", { user: "root" });
    await second.snapshots?.restore("root", layer as AsyncIterable<Uint8Array>);
    expect((await shell(second, "cat /root-only")).text).toBe("kept\n");
  });
});

/** Of a sandbox with one id there is no second line. */
async function hasIds(box: Box): Promise<boolean> {
  const { text } = await shell(box, "awk '{ n += $3 } END { print n }' /proc/self/uid_map");
  return Number(text) > 1;
}
