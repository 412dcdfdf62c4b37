import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Sandbox, Volume } from "e2b";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { type Door, openDoor } from "./door.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000, hookTimeout: 300_000 });

describe("E2B's own client, with volumes", () => {
  let door: Door;
  let volume: Volume;
  const content = () => ({ apiUrl: door.url });

  beforeAll(async () => {
    door = await openDoor();
    volume = await Volume.create("shared", door.options);
  });
  afterAll(() => door?.close());

  it("are read and written with no sandbox of the caller's", async () => {
    await volume.writeFile("/in/a/file.txt", "eins", content());
    await volume.writeFile("/in/a/file.txt", "zwei", content());
    expect(await volume.readFile("/in/a/file.txt", content())).toBe("zwei");
    expect(await volume.makeDir("/in/b", { ...content(), mode: 0o750 })).toMatchObject({
      name: "b",
      type: "directory",
      path: "/in/b",
      mode: 0o750,
    });
    const listed = await volume.list("/", { ...content(), depth: 3 });
    expect(listed.map(({ path }) => path)).toEqual(["/in", "/in/a", "/in/a/file.txt", "/in/b"]);
    expect(await volume.updateMetadata("/in/a/file.txt", { mode: 0o600 }, content())).toMatchObject({
      mode: 0o600,
      size: 4,
    });
    await expect(volume.updateMetadata("/in/a/file.txt", { uid: 0 }, content())).rejects.toThrow("stays so");
    await volume.remove("/in/b", content());
    expect(await volume.exists("/in/b", content())).toBe(false);
    await expect(volume.readFile("/not/there", content())).rejects.toThrow("not found");
    expect(await Sandbox.list(door.options).nextItems()).toEqual([]);
  });

  it("are in several sandboxes at once, and outlive them", async () => {
    const volumeMounts = { "/mnt/data": volume };
    const [one, other] = await Promise.all(
      [1, 2].map(() => Sandbox.create("base", { ...door.options, volumeMounts })),
    );
    await one?.commands.run("cat /mnt/data/in/a/file.txt > /mnt/data/copy; echo said >> /mnt/data/copy");
    expect((await other?.commands.run("cat /mnt/data/copy"))?.stdout).toBe("zweisaid\n");
    const mounted = [{ name: "shared", path: "/mnt/data" }];
    expect((await one?.getInfo())?.volumeMounts).toEqual(mounted);
    const listed = await Sandbox.list(door.options).nextItems();
    expect(listed.map((each) => each.volumeMounts)).toEqual([mounted, mounted]);
    await expect(Volume.destroy(volume.volumeId, door.options)).rejects.toThrow("work on it");
    await Promise.all([one?.kill(), other?.kill()]);
    expect(await volume.readFile("/copy", content())).toBe("zweisaid\n");
  });

  it("have a root inside that is nobody outside", async () => {
    const volumeMounts = { "/mnt/data": "shared" };
    const [one, other] = await Promise.all(
      [1, 2].map(() => Sandbox.create("base", { ...door.options, volumeMounts })),
    );
    const plant = "cp /bin/true /mnt/data/of-root && chmod 4755 /mnt/data/of-root";
    await one?.commands.run(plant, { user: "root" });
    await one?.commands.run("echo x > /mnt/data/of-user");
    expect((await other?.commands.run("stat -c %U /mnt/data/of-root /mnt/data/of-user"))?.stdout).toBe(
      "root\nuser\n",
    );
    await Promise.all([one?.kill(), other?.kill()]);
    const folder = join(door.home, "volumes", volume.volumeId);
    const owner = (await stat(folder)).uid;
    expect((await stat(join(folder, "of-user"))).uid).toBe(owner);
    // Who made the gateway's files is whom a program with this bit would run as.
    const gateway = process.getuid?.();
    if (gateway === 0) expect((await stat(join(folder, "of-root"))).uid).not.toBe(gateway);
    expect((await stat(join(door.home, "volumes"))).mode & 0o077).toBe(0);
  });

  it("lead nowhere else by links or by dots", async () => {
    const outside = await mkdtemp(join(tmpdir(), "sandboxer-outside-"));
    await writeFile(join(outside, "host"), "the host's");
    const sandbox = await Sandbox.create("base", {
      ...door.options,
      volumeMounts: { "/mnt/data": "shared" },
    });
    await sandbox.commands.run(`ln -s ${outside}/host /mnt/data/link; ln -s in/a/file.txt /mnt/data/good`);
    await sandbox.kill();
    expect(await volume.readFile("/good", content())).toBe("zwei");
    await expect(volume.readFile("/link", content())).rejects.toThrow("not found");
    await expect(volume.readFile(`/../../..${outside}/host`, content())).rejects.toThrow("not found");
    await rm(outside, { recursive: true });
  });

  it("are their owner's alone, by a token of their own", async () => {
    const root = await door.gateway.core.authenticate(door.gateway.apiKey);
    const { apiKey } = await door.gateway.core.createKey(root, { name: "other" });
    const stranger = { ...door.options, apiKey };
    expect(await Volume.list(stranger)).toEqual([]);
    await expect(Volume.connect(volume.volumeId, stranger)).rejects.toThrow("not found");
    expect(await Volume.destroy(volume.volumeId, stranger)).toBe(false);
    const mounts = { "/mnt/data": "shared" };
    await expect(Sandbox.create("base", { ...stranger, volumeMounts: mounts })).rejects.toThrow("no volume");
    const theirs = await Volume.create("shared", stranger);
    const path = `${door.url}/volumecontent/${volume.volumeId}/file?path=/copy`;
    for (const authorization of [undefined, "Bearer x.y", `Bearer ${theirs.token}`]) {
      const answer = await fetch(path, { headers: authorization ? { authorization } : {} });
      expect(answer.status).toBe(401);
      expect(await answer.json()).toMatchObject({ code: 401 });
    }
    expect(await Volume.destroy(theirs.volumeId, stranger)).toBe(true);
  });

  it("outlive the gateway, and are gone with everything when they are deleted", async () => {
    await door.gateway.close();
    door = await openDoor(door.home);
    expect((await Volume.list(door.options)).map(({ name }) => name)).toEqual(["shared"]);
    const again = await Volume.connect(volume.volumeId, door.options);
    expect(await again.readFile("/copy", content())).toBe("zweisaid\n");
    expect(await Volume.destroy(volume.volumeId, door.options)).toBe(true);
    expect(await Volume.destroy(volume.volumeId, door.options)).toBe(false);
    await expect(stat(join(door.home, "volumes", volume.volumeId))).rejects.toThrow("ENOENT");
    await expect(again.readFile("/copy", content())).rejects.toThrow("not found");
  });
});
