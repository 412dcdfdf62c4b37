import { FileNotFoundError, FilesystemEventType, InvalidArgumentError, Sandbox } from "e2b";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { type Door, openDoor } from "./door.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000, hookTimeout: 300_000 });

describe("E2B's own client, with files", () => {
  let door: Door;
  let sandbox: Sandbox;

  beforeAll(async () => {
    door = await openDoor();
    sandbox = await Sandbox.create("base", door.options);
  });
  afterAll(async () => {
    await sandbox?.kill();
    await door?.close();
  });

  it("writes and reads, one and many, with folders on the way", async () => {
    expect(await sandbox.files.write("~/deep/er/a b.txt", "eins")).toMatchObject({
      name: "a b.txt",
      path: "/home/user/deep/er/a b.txt",
      type: "file",
    });
    expect(await sandbox.files.read("deep/er/a b.txt")).toBe("eins");
    const many = await sandbox.files.write([
      { path: "one", data: "1" },
      { path: "/tmp/sub/two", data: new Uint8Array([0, 13, 10, 45, 45, 255]).buffer },
      { path: "empty", data: "" },
    ]);
    expect(many.map(({ path }) => path)).toEqual(["/home/user/one", "/tmp/sub/two", "/home/user/empty"]);
    expect([...(await sandbox.files.read("/tmp/sub/two", { format: "bytes" }))]).toEqual([
      0, 13, 10, 45, 45, 255,
    ]);
    expect(await sandbox.files.read("empty")).toBe("");
    await sandbox.files.write("zipped", "squeezed", { gzip: true, useOctetStream: true });
    expect(await sandbox.files.read("zipped")).toBe("squeezed");
  });

  it("gives the user what only root could make", async () => {
    await sandbox.files.write("/service/conf.d/a", "1");
    const { owner, permissions } = await sandbox.files.getInfo("/service/conf.d");
    expect({ owner, permissions }).toEqual({ owner: "user", permissions: "drwxr-xr-x" });
  });

  it("keeps metadata until the next upload", async () => {
    await sandbox.files.write("noted", "x", { metadata: { author: "me" } });
    expect((await sandbox.files.getInfo("noted")).metadata).toEqual({ author: "me" });
    await sandbox.files.write("noted", "y");
    expect((await sandbox.files.getInfo("noted")).metadata).toBeUndefined();
  });

  it("reads what the kernel makes up, which has no size", async () => {
    const version = (await sandbox.commands.run("cat /proc/version")).stdout;
    expect(version).not.toBe("");
    expect(await sandbox.files.read("/proc/version")).toBe(version);
    expect(await (await fetch(await sandbox.downloadUrl("/proc/version"))).text()).toBe(version);
  });

  it("refuses metadata that cannot be kept before anything is written", async () => {
    await sandbox.files.write("noted", "before", { metadata: { author: "me" } });
    const url = await sandbox.uploadUrl("noted");
    for (const [name, value] of [
      ["a".repeat(247), "x"],
      ["a", "x".repeat(4_096)],
      ["a", "\u00e9"],
      ["a", "\t"],
    ] as const) {
      const headers = { "content-type": "application/octet-stream", [`x-metadata-${name}`]: `x${value}x` };
      const answer = await fetch(url, { method: "POST", headers, body: "after" });
      expect([answer.status, await answer.json()], name.slice(0, 9)).toEqual([
        400,
        { code: 400, message: expect.stringContaining("invalid metadata") },
      ]);
    }
    expect(await sandbox.files.read("noted")).toBe("before");
    expect((await sandbox.files.getInfo("noted")).metadata).toEqual({ author: "me" });
  });

  it("lists as deep as it goes, and takes a value of nothing for none given", async () => {
    await sandbox.files.write("far/down/under", "1");
    const listed = await sandbox.files.list("far", { depth: 5_000 });
    expect(listed.map(({ name }) => name)).toEqual(["down", "under"]);
    const { core, apiKey } = door.gateway;
    const token = await core.openAccess(await core.authenticate(apiKey), sandbox.sandboxId);
    const answer = await fetch(`${door.url}/filesystem.Filesystem/ListDir`, {
      method: "POST",
      headers: {
        "e2b-sandbox-id": sandbox.sandboxId,
        "x-access-token": token,
        "content-type": "application/json",
      },
      body: '{"path":"far","depth":null}',
    });
    expect((await answer.json()).entries).toHaveLength(1);
  });

  it("makes, lists, moves and removes", async () => {
    expect(await sandbox.files.makeDir("box/in")).toBe(true);
    expect(await sandbox.files.makeDir("box/in")).toBe(false);
    await sandbox.files.write("box/b", "2");
    await sandbox.commands.run("ln -s b box/link");
    const listed = await sandbox.files.list("box", { depth: 2 });
    expect(listed.map(({ path }) => path)).toEqual(
      ["b", "in", "link"].map((name) => `/home/user/box/${name}`),
    );
    expect(listed[2]).toMatchObject({ type: "file", symlinkTarget: "/home/user/box/b" });
    expect((await sandbox.files.rename("box/b", "box/new/c")).path).toBe("/home/user/box/new/c");
    await sandbox.files.remove("box");
    await sandbox.files.remove("box");
    expect(await sandbox.files.exists("box")).toBe(false);
    await expect(sandbox.files.read("box/b")).rejects.toThrow(FileNotFoundError);
    await expect(sandbox.files.list("one")).rejects.toThrow(InvalidArgumentError);
    await expect(sandbox.files.read("/tmp")).rejects.toThrow("is a directory");
    await expect(sandbox.files.read("x", { user: "stranger" })).rejects.toThrow("stranger");
  });

  it("tells of changes below a folder", async () => {
    await sandbox.files.makeDir("watched/in");
    const seen: string[] = [];
    const watch = await sandbox.files.watchDir(
      "watched",
      ({ name, type }) => void seen.push(`${type} ${name}`),
      {
        recursive: true,
      },
    );
    await sandbox.files.write("watched/in/a", "1");
    await sandbox.files.rename("watched/in/a", "watched/in/b");
    await sandbox.files.remove("watched/in/b");
    const { CREATE, REMOVE, RENAME, WRITE } = FilesystemEventType;
    const told = [`${WRITE} in/a`, `${RENAME} in/a`, `${CREATE} in/b`, `${REMOVE} in/b`];
    await expect.poll(() => seen).toEqual(expect.arrayContaining(told));
    expect(seen).not.toContain(`${REMOVE} in/a`);
    await watch.stop();
  });

  it("reads and writes by signed addresses, for as long as they are good", async () => {
    await sandbox.files.write("signed.txt", "by hand");
    const url = await sandbox.downloadUrl("signed.txt", { useSignatureExpiration: 60 });
    expect(await (await fetch(url)).text()).toBe("by hand");
    const part = await fetch(url, { headers: { range: "bytes=3-6" } });
    expect([part.status, part.headers.get("content-range"), await part.text()]).toEqual([
      206,
      "bytes 3-6/7",
      "hand",
    ]);
    const form = new FormData();
    form.append("file", new Blob(["sent"]), "signed.txt");
    expect((await fetch(await sandbox.uploadUrl("signed.txt"), { method: "POST", body: form })).status).toBe(
      200,
    );
    expect(await sandbox.files.read("signed.txt")).toBe("sent");

    const old = await sandbox.downloadUrl("signed.txt", { useSignatureExpiration: -60 });
    expect(await (await fetch(old)).json()).toEqual({ code: 401, message: "signature is already expired" });
    const other = new URL(url);
    other.searchParams.set("path", "/etc/passwd");
    expect((await fetch(other)).status).toBe(401);
  });
});
