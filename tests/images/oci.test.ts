import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Box, type ImagesFacet, newRowId, newSandboxId } from "@sandboxer/contract";
import { createLocalExtension } from "@sandboxer/extensions/local";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { PLAIN_SPEC } from "../conformance/direct.ts";
import { removeEngine } from "../conformance/remove-engine.ts";
import { shell } from "../security/engine.ts";
import { busyboxLayer, dockerArchive, layoutArchive, makeImage } from "./image-maker.ts";
import { LOGIN, type Registry, startRegistry } from "./registry.ts";

const { describe, given } = await requires("linux-userns", "boxd", "docker-registry");

vi.setConfig({ testTimeout: 120_000, hookTimeout: 300_000 });

describe("OCI images on the local engine", () => {
  let place: string;
  let open: Registry;
  let closed: Registry;
  let extension: ReturnType<typeof createLocalExtension>;
  let images: ImagesFacet;
  let base: Buffer;
  const context = { installationId: newRowId("ins"), orgId: newRowId("org") };
  const create = (ref: string, progress?: (message: string) => void) =>
    extension.create(
      { ...PLAIN_SPEC, image: { kind: "oci", ref } },
      { ...context, sandboxId: newSandboxId(), ...(progress && { progress }) },
    );
  const within = async <T>(ref: string, work: (box: Box) => Promise<T>): Promise<T> => {
    const box = await create(ref);
    try {
      return await work(box);
    } finally {
      box.close();
      await extension.destroy(box.ref, context);
    }
  };
  const layersKept = async () =>
    (await readdir(join(place, "engine/images/oci/layers")).catch(() => [])).length;

  beforeAll(async () => {
    place = await mkdtemp(join(tmpdir(), "sandboxer-images-"));
    [open, closed, base] = await Promise.all([
      startRegistry(given["docker-registry"].path),
      startRegistry(given["docker-registry"].path, LOGIN),
      busyboxLayer(),
    ]);
    const auth = Buffer.from(`${LOGIN.username}:${LOGIN.password}`).toString("base64");
    const credentials = join(place, "config.json");
    await writeFile(credentials, JSON.stringify({ auths: { [closed.host]: { auth } } }));
    const registries = [open.host, closed.host];
    extension = createLocalExtension({
      dir: join(place, "engine"),
      images: { registries, defaultRegistry: open.host, credentials },
    });
    if (!extension.images) throw new Error("the engine keeps no images");
    images = extension.images;
  });
  afterAll(async () => {
    for (const { ref } of (await extension?.list(context)) ?? []) await extension.destroy(ref, context);
    await extension?.close();
    await Promise.all([open?.stop(), closed?.stop()]);
    await removeEngine(join(place, "engine"), place);
  });

  it("runs what a tag leads to, with its variables, folder and user, and says while it is pulled", async () => {
    const image = makeImage({
      layers: [
        base,
        [
          { name: "srv/", type: "5", mode: 0o755 },
          { name: "srv/hello", content: "hi", uid: 7 },
          { name: "etc/passwd", content: "root:x:0:0::/root:/bin/sh\napp:x:77:77::/srv:/bin/sh\n" },
        ],
      ],
      config: { Env: ["COLOUR=green", "PATH=/bin"], WorkingDir: "/srv", User: "app:app", Cmd: ["sleep"] },
      list: true,
    });
    await open.push("team/tools", "1", image);
    const said: string[] = [];
    const box = await create(`${open.host}/team/tools:1`, (message) => said.push(message));
    const script = "echo $COLOUR; pwd; id -un; cat hello; stat -c %u hello; cat /etc/hostname";
    expect((await shell(box, script)).text.split("\n")).toEqual([
      "green",
      "/srv",
      "app",
      "hi7",
      "sandbox",
      "",
    ]);
    expect(said[0]).toBe(`pulling ${open.host}/team/tools:1 from ${open.host}`);
    await extension.destroy(box.ref, context);
    const [kept] = (await images.list()).filter(({ digest }) => digest === image.digest);
    expect(kept).toMatchObject({
      names: [`${open.host}/team/tools:1`],
      layers: 2,
      owners: "kept",
      command: ["sleep"],
      defaults: { user: "app", directory: "/srv" },
    });
  });

  it("honours what a layer says is gone, and what it puts in its place", async () => {
    const folder = (name: string) => ({ name, type: "5", mode: 0o755 });
    await open.push(
      "layers",
      "1",
      makeImage({
        layers: [
          base,
          [
            folder("d/"),
            { name: "d/gone" },
            { name: "d/stays" },
            folder("o/"),
            { name: "o/old" },
            folder("r/"),
            { name: "r/old" },
            folder("s/"),
            { name: "s/old" },
          ],
          [
            { name: "d/.wh.gone" },
            { name: "o/.wh..wh..opq" },
            { name: "o/new" },
            { name: ".wh.r" },
            folder("r/"),
            { name: "r/new" },
            folder("s/"),
            { name: "s/new" },
            { name: ".wh.s" },
          ],
        ],
      }),
    );
    const { text } = await within("layers:1", (box) =>
      shell(box, "cd /; echo d: $(ls -A d) o: $(ls -A o) r: $(ls -A r) s: $(ls -A s)"),
    );
    expect(text).toBe("d: stays o: new r: new s: new\n");
  });

  it("is pulled with the operator's credentials, and not without", async () => {
    await closed.push("private", "1", makeImage({ layers: [base], compression: "zstd" }));
    const { text } = await within(`${closed.host}/private:1`, (box) =>
      shell(box, "env; cat /proc/1/environ 2>/dev/null; ls -a ~"),
    );
    expect(text).not.toContain(LOGIN.password);
    const other = createLocalExtension({ dir: join(place, "other"), images: { registries: [closed.host] } });
    await expect(other.images?.pull(`${closed.host}/private:1`, {})).rejects.toMatchObject({
      code: "policy_denied",
      details: { status: 401 },
    });
    await other.close();
    await rm(join(place, "other"), { recursive: true, force: true });
  });

  it("is not asked of a registry that nobody listed", async () => {
    await expect(create("registry.test/tools:1")).rejects.toMatchObject({
      code: "extension_unavailable",
      hint: expect.stringContaining("images.registries"),
    });
  });

  it("is pulled by digest, and once however many ask", async () => {
    const image = makeImage({ layers: [base, [{ name: "one" }]], compression: "none" });
    await open.push("many", "1", image);
    const before = await layersKept();
    const ref = `many@${image.digest}`;
    const boxes = await Promise.all(Array.from({ length: 4 }, () => create(ref)));
    expect(await layersKept()).toBe(before + 1);
    expect((await images.list()).find(({ digest }) => digest === image.digest)?.users).toBe(4);
    await expect(images.remove(image.digest)).rejects.toMatchObject({ code: "conflict" });
    await Promise.all(boxes.map(({ ref }) => extension.destroy(ref, context)));
    await vi.waitFor(() => images.remove(image.digest), { timeout: 60_000 });
    expect(await layersKept()).toBe(before);
  });

  it("comes from one file, as OCI lays it out or docker saves it, or a root's files", async () => {
    const image = makeImage({ layers: [base, [{ name: "from-layout", content: "1" }]] });
    async function* parts(bytes: Buffer) {
      for (let at = 0; at < bytes.length; at += 100_000) yield bytes.subarray(at, at + 100_000);
    }
    const name = { "org.opencontainers.image.ref.name": "made/here:7" };
    expect((await images.import(parts(layoutArchive(image, name)), {})).names).toEqual(["made/here:7"]);
    const saved = makeImage({ layers: [base, [{ name: "from-docker", content: "2" }]] });
    await images.import(parts(dockerArchive(saved, "saved:1")), {});
    await images.import(parts(base), { name: "plain", kind: "rootfs" });
    expect((await within("made/here:7", (box) => shell(box, "cat /from-layout"))).text).toBe("1");
    expect((await within("saved:1", (box) => shell(box, "cat /from-docker"))).text).toBe("2");
    expect((await within("plain", (box) => shell(box, "id -un"))).text).toBe("user\n");
    await expect(images.import(parts(base), { name: "x" })).rejects.toMatchObject({
      code: "invalid_request",
    });
    await images.remove("plain");
    await expect(create("plain@sha256:0")).rejects.toMatchObject({ code: "invalid_request" });
  });

  it("leaves nothing aside, and prunes what nothing leads to", async () => {
    const again = makeImage({ layers: [base, [{ name: "newer" }]] });
    await open.push("moved", "1", makeImage({ layers: [base, [{ name: "older" }]] }));
    await images.pull("moved:1", {});
    await open.push("moved", "1", again);
    expect((await images.pull("moved:1", {})).digest).toBe(again.digest);
    const before = await layersKept();
    expect(await images.prune()).toMatchObject({ images: [expect.any(String)], layers: 1 });
    expect(await layersKept()).toBe(before - 1);
    expect(await readdir(join(place, "engine/images/oci/drafts"))).toEqual([]);
  });
});
