import { createHash, createPublicKey, generateKeyPairSync, sign } from "node:crypto";
import { rmSync } from "node:fs";
import { appendFile, cp, mkdtemp, readdir, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Gateway, openGateway, silent } from "@sandboxer/gateway";
import { type Client, createClient, type Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "../conformance/remove-engine.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

const CANARY = "canary-5f1d7c2e9b";
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

describe("snapshots as an attacker meets them", () => {
  let home: string;
  let gateway: Gateway;
  let client: Client;
  let source: Sandbox;
  /** Goes as soon as somebody begins to restore it. */
  let doomed: string | undefined;
  const shelf = () => join(home, "home/snapshots");
  const sh = async (sandbox: Sandbox, script: string, user = "user") =>
    text((await sandbox.run(["sh", "-c", script], { user })).stdout);
  const bytesOf = async (stream: AsyncIterable<Uint8Array>) => {
    const parts: Uint8Array[] = [];
    for await (const part of stream) parts.push(part);
    return Buffer.concat(parts);
  };

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "sandboxer-sn-"));
    gateway = await openGateway({
      home: join(home, "home"),
      listen: { host: "127.0.0.1", port: 0 },
      log: silent,
      failpoint(place) {
        if (place !== "restore.begun" || doomed === undefined) return;
        rmSync(join(shelf(), doomed), { recursive: true });
        doomed = undefined;
      },
    });
    client = createClient({ url: gateway.url ?? "", apiKey: gateway.apiKey });
    source = await client.sandboxes.create({ env: { TOKEN: CANARY } });
    await sh(source, "echo kept > ~/kept; echo $TOKEN > /tmp/t; echo $TOKEN > /dev/shm/s");
    const machine = `mkdir -p /run/secrets; echo ${CANARY} > /run/secrets/s; echo 1234 > /etc/machine-id;
      mkdir -p /etc/ssh /etc/sandboxer; echo ${CANARY} > /etc/ssh/ssh_host_ed25519_key
      echo ${CANARY} > /etc/sandboxer/authority.pem`;
    await sh(source, machine, "root");
  });
  afterAll(async () => {
    for await (const sandbox of client.sandboxes.all({ states: ["running"] })) await sandbox.destroy();
    await gateway.close();
    await removeEngine(join(home, "home/engine"), home);
  });

  it("AZ-4 an import asked for again under its key is one, whoever else uses that word", async () => {
    const archive = await bytesOf(await client.snapshots.export((await source.snapshot()).id));
    const once = { idempotencyKey: "bring" };
    const brought = () => client.snapshots.import([archive], { name: "brought" }, once);
    const all = await Promise.all(Array.from({ length: 20 }, brought));
    expect(new Set(all.map(({ id }) => id)).size).toBe(1);
    await expect(client.snapshots.import([archive], { name: "other" }, once)).rejects.toMatchObject({
      code: "idempotency_mismatch",
    });
    await sh(source, "echo more > ~/more");
    const other = await bytesOf(await client.snapshots.export((await source.snapshot()).id));
    await expect(client.snapshots.import([other], { name: "brought" }, once)).rejects.toMatchObject({
      code: "idempotency_mismatch",
    });
    const { apiKey } = await client.keys.create({ role: "operator" });
    const stranger = createClient({ url: gateway.url ?? "", apiKey });
    const theirs = await stranger.snapshots.import([archive], { name: "brought" }, once);
    expect(theirs.id).not.toBe(all[0]?.id);
    await client.snapshots.delete(all[0]?.id ?? "");
    expect((await brought()).id, "after it was deleted").toBe(all[0]?.id);
    expect((await client.snapshots.list()).map(({ id }) => id)).not.toContain(all[0]?.id);
    expect((await readdir(shelf())).filter((name) => name.endsWith(".new"))).toEqual([]);
    for (const { id } of await client.snapshots.list()) await client.snapshots.delete(id);
  });

  it("SN-1 holds no variable, secret, temporary file, key or authority of the guard", async () => {
    const snapshot = await source.snapshot();
    const whole = await bytesOf(await client.snapshots.export(snapshot.id));
    expect(whole.includes("kept"), "control: it was looked at").toBe(true);
    for (const form of ["utf8", "base64", "hex", "utf16le"] as const) {
      const written =
        form === "base64" || form === "hex" ? Buffer.from(CANARY).toString(form) : Buffer.from(CANARY, form);
      expect(whole.includes(written), form).toBe(false);
    }
    expect(whole.includes("machine-id")).toBe(false);
    await client.snapshots.delete(snapshot.id);
  });

  it("SN-2 gives each copy, forked or restored, an identity of its own", async () => {
    const { id } = await source.snapshot();
    const restored = await Promise.all([1, 2].map(() => client.sandboxes.create({ from: id })));
    const copies = [...(await source.fork(2)), ...restored];
    const drawn = "od -An -N32 -tx1 /dev/urandom; cat /proc/sys/kernel/random/uuid";
    const facts = await Promise.all(copies.map((copy) => sh(copy, drawn)));
    expect(new Set(facts).size).toBe(4);
    expect(new Set([source.id, ...copies.map((copy) => copy.id)]).size).toBe(5);
    const kept = "cat /etc/machine-id /etc/ssh/ssh_host_* /etc/sandboxer/authority.pem /run/secrets/* 2>&1";
    expect(await sh(source, kept, "root"), "control: the first has what follows").toMatch(
      new RegExp(`1234\n${CANARY}`),
    );
    for (const copy of copies) {
      const found = await sh(copy, kept, "root");
      expect(found).not.toContain("1234");
      expect(found).not.toContain(CANARY);
      expect(await sh(copy, "cat ~/kept")).toBe("kept\n");
      await copy.destroy();
    }
    await client.snapshots.delete(id);
  });

  it("SN-4 restores nothing of which a byte was changed, cut, added or signed by another", async () => {
    const tamper: Record<string, (dir: string, blobs: string[]) => Promise<void>> = {
      "a byte of the layer": async (dir, blobs) => flip(join(dir, await largest(dir, blobs)), 700),
      "the layer cut": async (dir, blobs) => truncate(join(dir, await largest(dir, blobs)), 512),
      "the layer longer": async (dir, blobs) => appendFile(join(dir, await largest(dir, blobs)), "x"),
      "a byte of the manifest": async (dir) => flip(join(dir, await manifestOf(dir)), 30),
      "the signature": async (dir) =>
        changeIndex(dir, (entry) => {
          const bytes = Buffer.from(entry.annotations["dev.sandboxer.signature"] ?? "", "base64");
          bytes[3] = (bytes[3] ?? 0) ^ 1;
          entry.annotations["dev.sandboxer.signature"] = bytes.toString("base64");
        }),
      "no index": async (dir) => truncate(join(dir, "index.json"), 10),
      "another's manifest": async (dir) => {
        await cp(join(shelf(), other.id, "index.json"), join(dir, "index.json"));
      },
      "another's whole layout, signed by us": async (dir) => {
        for (const part of ["blobs", "index.json"])
          await cp(join(shelf(), other.id, part), join(dir, part), { recursive: true });
      },
      "the same, signed by a stranger": async (dir) => signAnew(dir, (manifest) => manifest),
      "fewer layers, signed by a stranger": async (dir) =>
        signAnew(dir, (manifest) => ({ ...manifest, layers: [] })),
    };
    await sh(source, "echo more > ~/more");
    const other = await source.snapshot({ name: "other" });
    await sh(source, "echo other > ~/more");
    for (const [what, change] of Object.entries(tamper)) {
      const snapshot = await source.snapshot();
      const dir = join(shelf(), snapshot.id);
      await change(dir, await readdir(join(dir, "blobs/sha256")));
      const living = (await client.sandboxes.list({ states: ["running"] })).sandboxes.length;
      await expect(client.sandboxes.create({ from: snapshot.id }), what).rejects.toMatchObject({
        code: "invalid_request",
      });
      expect((await client.sandboxes.list({ states: ["running"] })).sandboxes.length, what).toBe(living);
      await client.snapshots.delete(snapshot.id);
    }
    const honest = await client.sandboxes.create({ from: "other" });
    expect(await sh(honest, "cat ~/more"), "control: what nobody touched").toBe("more\n");
    await honest.destroy();
    await client.snapshots.delete(other.id);
  });

  it("SN-4 imports nothing that was changed on the way, nor what a stranger signed again", async () => {
    const snapshot = await source.snapshot();
    const whole = await bytesOf(await client.snapshots.export(snapshot.id));
    for (const at of [0, 130, 520, 600, 1_200, 1_600, whole.length - 1_600]) {
      const broken = Buffer.from(whole);
      broken[at] = (broken[at] ?? 0) ^ 1;
      await expect(client.snapshots.import([broken]), `byte ${at}`).rejects.toMatchObject({
        code: "invalid_request",
      });
    }
    await expect(client.snapshots.import([whole.subarray(0, whole.length / 2)])).rejects.toMatchObject({
      code: "invalid_request",
    });
    const dir = join(shelf(), snapshot.id);
    await signAnew(dir, (manifest) => manifest);
    const strange = await bytesOf(await client.snapshots.export(snapshot.id));
    await expect(client.snapshots.import([strange])).rejects.toMatchObject({ code: "policy_denied" });
    expect((await client.snapshots.list()).length).toBe(1);
    expect((await client.snapshots.import([whole], { name: "honest" })).name).toBe("honest");
    for (const { id } of await client.snapshots.list()) await client.snapshots.delete(id);
  });

  it("FS-1 takes only a layout's own names out of an archive", async () => {
    const { archiveOf } = await import("./archive.ts");
    for (const name of [
      "../escape",
      "/tmp/escape",
      "blobs/sha256/../../../escape",
      "record.json",
      "index.json/x",
    ]) {
      const bytes = archiveOf([{ name, content: "x" }]);
      await expect(client.snapshots.import([bytes]), name).rejects.toMatchObject({ code: "invalid_request" });
    }
    expect((await readdir(home)).includes("escape")).toBe(false);
    expect(await readdir(shelf())).toEqual([]);
  });

  it("SN-4 another owner's is absent", async () => {
    const snapshot = await source.snapshot({ name: "mine" });
    const child = async () => {
      const { apiKey } = await client.keys.create({ role: "operator" });
      return createClient({ url: gateway.url ?? "", apiKey });
    };
    const other = await child();
    expect(await other.snapshots.list()).toEqual([]);
    for (const name of [snapshot.id, "mine"]) {
      await expect(other.sandboxes.create({ from: name })).rejects.toMatchObject({ code: "not_found" });
      await expect(other.snapshots.delete(name)).rejects.toMatchObject({ code: "not_found" });
      await expect(other.snapshots.export(name)).rejects.toMatchObject({ code: "not_found" });
    }
    // Who gave the key sees what it makes.
    const theirs = await (await other.sandboxes.create({})).snapshot();
    expect((await client.snapshots.list()).map(({ id }) => id)).toContain(theirs.id);
    for (const { id } of await client.snapshots.list()) await client.snapshots.delete(id);
  });

  it("SN-6 that is deleted under who restores it is absent to them, and nothing is made", async () => {
    const snapshot = await source.snapshot();
    doomed = snapshot.id;
    const living = async () => (await client.sandboxes.list({ states: ["running"] })).sandboxes.length;
    const before = await living();
    await expect(client.sandboxes.create({ from: snapshot.id })).rejects.toMatchObject({ code: "not_found" });
    expect(doomed, "control: it was begun").toBeUndefined();
    expect(await living()).toBe(before);
    const { id } = await source.snapshot();
    await client.snapshots.delete(id);
    await expect(client.sandboxes.create({ from: id })).rejects.toMatchObject({ code: "not_found" });
    await expect(client.snapshots.export(id)).rejects.toMatchObject({ code: "not_found" });
  });

  it("SN-5 is for its owner's eyes, and gone when it is deleted", async () => {
    const { id } = await source.snapshot();
    const dir = join(shelf(), id);
    expect((await stat(dir)).mode & 0o777).toBe(0o700);
    for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
      const { mode } = await stat(join(entry.parentPath, entry.name));
      expect(mode & 0o077, entry.name).toBe(0);
    }
    await client.snapshots.delete(id);
    expect(await readdir(shelf())).toEqual([]);
  });

  it("RE-3 leaves no half of one, and clears what a death left", async () => {
    await writeFile(join(home, "marker"), "");
    const { mkdir } = await import("node:fs/promises");
    await mkdir(join(shelf(), "snp_aaaaaaaaaaaaaaaaaaaa.999999999.new/blobs"), { recursive: true });
    await mkdir(join(shelf(), "snp_bbbbbbbbbbbbbbbbbbbb.old"), { recursive: true });
    const living = `snp_dddddddddddddddddddd.${process.pid}.new`;
    await mkdir(join(shelf(), living), { recursive: true });
    await mkdir(join(shelf(), "snp_cccccccccccccccccccc"), { recursive: true });
    expect(await client.snapshots.list()).toEqual([]);
    const { core } = gateway;
    await core.start();
    expect((await readdir(shelf())).filter((name) => name.includes("."))).toEqual([living]);
  });
});

async function flip(path: string, at: number): Promise<void> {
  const bytes = await readFile(path);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  await writeFile(path, bytes);
}

interface Entry {
  digest: string;
  size: number;
  annotations: Record<string, string>;
}

async function changeIndex(dir: string, change: (entry: Entry) => void): Promise<void> {
  const index = JSON.parse(await readFile(join(dir, "index.json"), "utf8"));
  change(index.manifests[0]);
  await writeFile(join(dir, "index.json"), JSON.stringify(index));
}

/** With a key of one's own, over what one would like it to say. */
async function signAnew(dir: string, change: (manifest: object) => object): Promise<void> {
  const { privateKey } = generateKeyPairSync("ed25519");
  const old = await readFile(join(dir, await manifestOf(dir)), "utf8");
  const manifest = Buffer.from(JSON.stringify(change(JSON.parse(old))));
  const name = createHash("sha256").update(manifest).digest("hex");
  await writeFile(join(dir, "blobs/sha256", name), manifest);
  await changeIndex(dir, (entry) => {
    entry.digest = `sha256:${name}`;
    entry.size = manifest.length;
    entry.annotations["dev.sandboxer.signature"] = sign(null, manifest, privateKey).toString("base64");
    entry.annotations["dev.sandboxer.key"] = createPublicKey(privateKey)
      .export({ type: "spki", format: "der" })
      .toString("base64");
  });
}

async function manifestOf(dir: string): Promise<string> {
  const index = JSON.parse(await readFile(join(dir, "index.json"), "utf8"));
  return join("blobs/sha256", index.manifests[0].digest.slice(7));
}

async function largest(dir: string, blobs: string[]): Promise<string> {
  const sizes = await Promise.all(
    blobs.map(async (name) => ({ name, size: (await stat(join(dir, "blobs/sha256", name))).size })),
  );
  const [first] = sizes.sort((a, b) => b.size - a.size);
  return join("blobs/sha256", first?.name ?? "");
}
