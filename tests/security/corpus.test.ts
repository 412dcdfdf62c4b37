import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Gateway, openGateway, silent } from "@sandboxer/gateway";
import { type Client, createClient, type Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "../conformance/remove-engine.ts";
import { archiveOf } from "./archive.ts";
import { corpus } from "./corpus.ts";
import { type WayIn, waysIn } from "./ways-to-unpack.ts";

const { describe } = await requires("linux-userns", "boxd");
const run = promisify(execFile);

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

const HONEST = archiveOf([{ name: "ok", content: "fine\n", mode: 0o644 }]);
const OURS =
  /^(?:invalid_request|not_a_directory|is_a_directory|path_not_found|path_exists|storage_full|extension_failed)$/;

/** A folder to unpack to, with nothing in it, beside a canary. */
async function prepare(place: string): Promise<void> {
  for (const name of ["in", "outside"]) await mkdir(join(place, name), { recursive: true });
  for (const name of await readdir(join(place, "in")))
    await rm(join(place, "in", name), { recursive: true, force: true });
  const canary = join(place, "outside/canary");
  if (!existsSync(canary)) await writeFile(canary, "canary\n");
}

/** Names, kinds, modes, links and times of all that is there, and what the canary says. */
async function factsOf(folder: string): Promise<string> {
  const names = ["", ...(await readdir(folder, { recursive: true })).sort()];
  const found = names.map(async (name) => {
    const { mode, nlink, uid, size, mtimeMs } = await lstat(join(folder, name));
    return [name, mode.toString(8), nlink, uid, size, mtimeMs].join(" ");
  });
  return [...(await Promise.all(found)), await readFile(join(folder, "canary"), "utf8")].join("\n");
}

/** What nobody may make on the host's disks. */
async function forbiddenIn(folder: string): Promise<string[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const bad = found.map(async (entry) => {
    const path = join(entry.parentPath, entry.name);
    const { mode } = await lstat(path);
    const isPlain = entry.isFile() || entry.isDirectory() || entry.isSymbolicLink();
    return isPlain && !(entry.isFile() && mode & 0o6000) ? [] : [path];
  });
  return (await Promise.all(bad)).flat();
}

describe("archives of every hostile kind, by every way in", () => {
  let place: string;
  let home: string;
  let aside: string;
  let gateway: Gateway;
  let client: Client;
  let box: Sandbox;
  let ways: WayIn[];
  const outside = () => join(place, "outside");
  const running = async () =>
    (await client.sandboxes.list({ states: ["running"] })).sandboxes.map(({ id }) => id);
  const sh = async (script: string) =>
    new TextDecoder().decode((await box.run(["sh", "-c", script], { user: "root" })).stdout);
  /** The same within the sandbox, where there is a canary of the same name; and makes room again. */
  const within = () =>
    sh(
      `cd ${place} && find outside -printf '%p %y %m %n ' && cat outside/canary; ls; rm -rf in && mkdir -m 777 in`,
    );

  beforeAll(async () => {
    place = await mkdtemp(join(tmpdir(), "sandboxer-corpus-"));
    await chmod(place, 0o755);
    await prepare(place);
    home = await mkdtemp(join(tmpdir(), "sandboxer-ways-"));
    aside = await mkdtemp(join(tmpdir(), "sandboxer-tarballs-"));
    gateway = await openGateway({ home, listen: false, log: silent });
    client = createClient({ url: "http://localhost", apiKey: gateway.apiKey, fetch: gateway.fetch });
    box = await client.sandboxes.create({});
    const workspace = { source: join(place, "in"), mode: "copy-on-write" } as const;
    const worker = await client.sandboxes.create({ workspace });
    await sh(
      `mkdir -p ${place}/outside && echo canary > ${place}/outside/canary && mkdir -m 777 ${place}/in`,
    );
    ways = waysIn({ client, home, place, aside, box, worker });
  });
  afterAll(async () => {
    for await (const one of client.sandboxes.all({ states: ["running"] })) await one.destroy();
    await gateway?.close();
    await removeEngine(join(home, "engine"), home);
    for (const folder of [place, aside]) await rm(folder, { recursive: true, force: true });
  });

  it("FS-1 control: a tar that trusts its archive does harm by each that bites", async () => {
    const own = await mkdtemp(join(tmpdir(), "sandboxer-naive-"));
    const biting = corpus(join(own, "outside")).filter(({ bites }) => bites);
    expect(biting.length).toBeGreaterThan(10);
    for (const { what, archive } of biting) {
      await rm(join(own, "outside"), { recursive: true, force: true });
      await prepare(own);
      const before = await factsOf(join(own, "outside"));
      await writeFile(join(own, "it.tar"), archive);
      await run("tar", ["-xPf", join(own, "it.tar"), "-C", join(own, "in")]).catch(() => {});
      expect(await factsOf(join(own, "outside")), what).not.toBe(before);
    }
    await rm(own, { recursive: true });
  });

  it.each([
    ["an upload"],
    ["an upload as root"],
    ["a rootfs that is imported"],
    ["a rootfs tarball that is named"],
    ["a layer of an image"],
    ["an image's own archive"],
    ["a snapshot's own archive"],
    ["a layer of a snapshot, signed by somebody who is trusted"],
    ["what a sandbox sends to be applied"],
    ["what a mirror brings back"],
    ["what is copied out of a sandbox"],
  ])("FS-1, FS-2 %s: each is refused, or all of it is inside, and the host is as it was", async (name) => {
    const way = ways.find((one) => one.name === name);
    if (!way) throw new Error(`no way ${name}`);
    const before = await factsOf(outside());
    const [inner, living] = [await within(), await running()];
    for (const { what, archive, outcome } of corpus(outside())) {
      await prepare(place);
      const came = await way.take(archive).then(
        () => "inside",
        (error) => {
          expect(error.code, `${what}: ${error}`).toMatch(OURS);
          return "refused";
        },
      );
      if (way.takes === "tree") expect(came, what).toBe(outcome);
      if (way.takes === "description") expect(came, what).toBe("refused");
      expect(await factsOf(outside()), what).toBe(before);
      expect((await readdir(place)).sort(), what).toEqual(["in", "outside"]);
      expect(await forbiddenIn(place), what).toEqual([]);
      expect(await forbiddenIn(join(home, "engine/images")), what).toEqual([]);
      expect(await readdir(join(home, "engine/images/oci/drafts")).catch(() => []), what).toEqual([]);
      if (name.startsWith("an upload")) expect(await within(), what).toBe(inner);
    }
    expect(await running()).toEqual(living);
    expect(await within()).toBe(inner);
    if (way.takes === "description") return;
    await prepare(place);
    await way.take(HONEST);
  });
});
