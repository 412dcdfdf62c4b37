import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { collect, SandboxerError } from "@sandboxer/contract";
import { type Gateway, openGateway, silent } from "@sandboxer/gateway";
import { createClient, type Sandbox } from "@sandboxer/sdk";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "../conformance/remove-engine.ts";
import { archiveOf } from "./archive.ts";

const { describe } = await requires("linux-userns", "boxd");

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => "ok",
    (error) => (SandboxerError.is(error) ? error.code : String(error)),
  );

describe("files and folders, asked for with bad intent", () => {
  let home: string;
  let gateway: Gateway;
  let sandbox: Sandbox;
  const canary = `canary-${Math.random()}`;
  let canaryFile: string;
  const sh = async (script: string) =>
    Buffer.from((await sandbox.run(["sh", "-c", script])).stdout).toString();
  const read = async (path: string) => {
    const parts: Uint8Array[] = [];
    for await (const part of (await sandbox.files.read(path)).data) parts.push(part);
    return Buffer.concat(parts).toString();
  };

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "sandboxer-files-"));
    canaryFile = join(home, "canary");
    await writeFile(canaryFile, canary);
    gateway = await openGateway({ home, listen: { host: "127.0.0.1", port: 0 }, log: silent });
    sandbox = await createClient({ url: gateway.url ?? "", apiKey: gateway.apiKey }).sandboxes.create();
  });
  afterAll(async () => {
    await sandbox?.destroy();
    await gateway?.close();
    await removeEngine(join(home, "engine"), home);
    await rm(home, { recursive: true, force: true });
  });

  it("FD-2 takes no working directory by descriptor", async () => {
    const numbers = Array.from({ length: 66 }, (_, number) => number);
    const paths = numbers.flatMap((number) => [
      `/proc/self/fd/${number}`,
      `/proc/1/fd/${number}`,
      `/proc/self/fd/${number}/../..`,
    ]);
    for (const cwd of [...paths, "/proc/1/root", "/proc/self/root", "/proc/1/cwd", "/proc/self/cwd/.."]) {
      const code = await codeOf(sandbox.run(["pwd"], { cwd }));
      expect(["invalid_request", "path_not_found", "permission_denied", "not_a_directory"], cwd).toContain(
        code,
      );
    }
    expect(await codeOf(sandbox.run(["pwd"], { cwd: "/proc/self" })), "control").toBe("ok");
  });

  it("FS-4 reads through links inside only, and never what is not a file", async () => {
    await sh(
      `ln -sf ${canaryFile} to-host; ln -sf /proc/1/root${canaryFile} through-init; ln -sf /proc/self/environ env`,
    );
    await sh("ln -sf /etc/passwd inside; mkfifo -m 666 pipe 2>/dev/null; ln -sf pipe to-pipe");
    expect(await read("inside"), "control: links inside are followed").toContain("user:");
    for (const path of [
      "to-host",
      "through-init",
      "pipe",
      "to-pipe",
      "/dev/zero",
      "/proc/1/mem",
      "/proc/kcore",
    ]) {
      const outcome = await read(path).catch((error) => `refused: ${error.code}`);
      expect(outcome, path).toMatch(/^refused: (path_not_found|permission_denied|invalid_request)$/);
    }
    for (const path of ["/proc/1/environ", "env", "/proc/1/cmdline"]) {
      const outcome = await read(path).catch((error) => `refused: ${error.code}`);
      expect(outcome, path).not.toContain(canary);
      expect(outcome, path).not.toContain(home);
    }
    for (const verb of [
      () => sandbox.files.pack("through-init"),
      () => sandbox.files.stat("through-init"),
      () => sandbox.files.list("/proc/1/root"),
      () => sandbox.files.watch("/proc/1/root"),
      () => sandbox.files.unpack("/proc/self/fd", [archiveOf([{ name: "x", content: "y" }])]),
    ]) {
      expect(["path_not_found", "permission_denied", "invalid_request"]).toContain(await codeOf(verb()));
    }
  });

  it("FS-4 gives what is inside or nothing, while a parent is swapped for a link to elsewhere", async () => {
    await sh(
      "mkdir -p swap/real && echo real > swap/real/file; ln -sfn /proc/1/root swap/evil; echo in > /tmp/file",
    );
    const swapper = await sandbox.exec({
      argv: ["sh", "-c", "cd swap; while :; do ln -sfn real now; ln -sfn evil now; ln -sfn /tmp now; done"],
    });
    const seen = new Set<string>();
    for (let round = 0; round < 300 || (seen.size < 2 && round < 20_000); round++) {
      seen.add(await read("swap/now/file").catch((error) => error.code));
    }
    await swapper.signal("KILL");
    swapper.detach();
    const allowed = ["real\n", "in\n", "path_not_found", "permission_denied", "invalid_request"];
    for (const outcome of seen) expect(allowed).toContain(outcome);
    expect(seen.size, "control: it was swapped").toBeGreaterThan(1);
  });

  it("FS-4 ends a read of a file that grows for ever", async () => {
    const writer = await sandbox.exec({
      argv: ["sh", "-c", "while :; do head -c 65536 /dev/zero; done > growing"],
    });
    await expect
      .poll(() =>
        sandbox.files.stat("growing").then(
          ({ size }) => size,
          () => 0,
        ),
      )
      .toBeGreaterThan(0);
    const { size, data } = await sandbox.files.read("growing");
    let length = 0;
    for await (const part of data) length += part.length;
    expect(length).toBe(size);
    await writer.signal("KILL");
    await collect(writer).catch(() => {});
  });

  it("FS-6 refuses paths that are none, by every route that takes one", async () => {
    const paths = ["", "a\0b", "\0", "x".repeat(4097), `/${"y".repeat(300)}`];
    for (const path of paths) {
      const { files } = sandbox;
      for (const verb of [
        () => files.read(path),
        () => files.write(path, [new Uint8Array(1)]),
        () => files.stat(path),
        () => files.list(path),
        () => files.mkdir(path),
        () => files.move(path, "to"),
        () => files.move("from", path),
        () => files.remove(path),
        () => files.chmod(path, 0o600),
        () => files.symlink(path, "x"),
        () => files.xattrs(path),
        () => files.watch(path),
        () => files.pack(path),
        () => files.unpack(path, [new Uint8Array(1024)]),
      ]) {
        const code = await codeOf(verb());
        expect(
          ["invalid_request", "path_not_found"],
          `${JSON.stringify(path.slice(0, 9))} ${verb}`,
        ).toContain(code);
      }
    }
  });

  it("FS-6 decodes a path once, and never into another one", async () => {
    const ask = (query: string) =>
      gateway.fetch(`http://localhost/v1/sandboxes/${sandbox.id}/files/stat?path=${query}`, {
        headers: { authorization: `Bearer ${gateway.apiKey}` },
      });
    for (const query of [
      "..%2f..%2fetc%2fpasswd",
      "%2e%2e/%2e%2e/etc/passwd",
      "/etc//passwd",
      "/etc/passwd/.",
    ]) {
      const response = await ask(query);
      expect([200, 404, 409], query).toContain(response.status);
      const body = (await response.json()) as { path?: string };
      if (body.path) expect(body.path).toContain("/etc/");
    }
    for (const query of ["%252e%252e%252fetc", "%5c..%5cetc", "%c0%ae%c0%ae/etc"]) {
      expect((await ask(query)).status, query).toBe(404);
    }
    expect((await ask("a%00b")).status).toBe(400);
  });

  it("FS-6 keeps any name a client can write, byte for byte", async () => {
    const name = fc
      .string({ minLength: 1, maxLength: 60, unit: "binary" })
      .filter((text) => !/[\0/]/.test(text) && text !== "." && text !== ".." && text.isWellFormed())
      .filter((text) => Buffer.byteLength(text) <= 255);
    await sandbox.files.mkdir("names");
    await fc.assert(
      fc.asyncProperty(name, async (text) => {
        await sandbox.files.write(`names/${text}`, [Buffer.from(text)]);
        expect(await read(`names/${text}`)).toBe(text);
        expect((await sandbox.files.list("names")).map(({ path }) => path)).toEqual([
          `/home/user/names/${text}`,
        ]);
        await sandbox.files.remove(`names/${text}`);
      }),
      { numRuns: 40 },
    );
  });
});
