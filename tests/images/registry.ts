import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { vi } from "vitest";
import type { Made } from "./image-maker.ts";

export interface Registry {
  /** Host and port. */
  readonly host: string;
  push(repository: string, tag: string, image: Made): Promise<void>;
  stop(): Promise<void>;
}

export interface Login {
  readonly username: string;
  readonly password: string;
  /** As htpasswd has it. */
  readonly hash: string;
}

/** Made with `htpasswd -nbB`: it takes a moment, and no test is about that. */
export const LOGIN: Login = {
  username: "ann",
  password: "s3cret",
  hash: "$2y$05$kEjPm0xmTuw83SxgLDeJEeFirKbMI.nUSPrLvrY85CsyM8NLa2lXO",
};

/** A real registry on loopback, with what it keeps in a folder of its own. */
export async function startRegistry(path: string, login?: Login): Promise<Registry> {
  // A port that was free may be somebody else's by the time the registry asks for it.
  for (let tries = 5; ; tries--) {
    const registry = await startAt(await freePort(), path, login);
    if (registry) return registry;
    if (tries === 0) throw new Error("the registry did not come up");
  }
}

async function startAt(port: number, path: string, login?: Login): Promise<Registry | undefined> {
  const dir = await mkdtemp(join(tmpdir(), "sandboxer-registry-"));
  const host = `127.0.0.1:${port}`;
  const htpasswd = join(dir, "htpasswd");
  if (login) await writeFile(htpasswd, `${login.username}:${login.hash}\n`);
  const config = {
    version: 0.1,
    storage: { filesystem: { rootdirectory: join(dir, "storage") } },
    http: { addr: host },
    ...(login && { auth: { htpasswd: { realm: "test", path: htpasswd } } }),
  };
  await writeFile(join(dir, "config.yml"), JSON.stringify(config));
  const serving = spawn(path, ["serve", join(dir, "config.yml")], { stdio: "ignore" });
  const headers = login && {
    authorization: `Basic ${Buffer.from(`${login.username}:${login.password}`).toString("base64")}`,
  };
  const call = (method: string, url: string, more: RequestInit = {}) =>
    fetch(url.startsWith("http") ? url : `http://${host}/v2/${url}`, {
      method,
      ...more,
      headers: { ...headers, ...more.headers },
    });
  const answers = () =>
    call("GET", "").then(
      ({ status }) => status === 200,
      () => false,
    );
  const stop = async () => {
    serving.kill("SIGKILL");
    if (serving.exitCode === null && serving.signalCode === null) await once(serving, "exit");
    await rm(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  };
  const isOver = () => serving.exitCode !== null;
  await vi.waitUntil(async () => isOver() || (await answers()), { timeout: 60_000, interval: 50 });
  if (isOver()) {
    await stop();
    return undefined;
  }
  return {
    host,
    stop,
    async push(repository, tag, { blobs, manifests }) {
      for (const [digest, bytes] of blobs) {
        const begun = await call("POST", `${repository}/blobs/uploads/`);
        const place = new URL(begun.headers.get("location") ?? "", `http://${host}`);
        place.searchParams.set("digest", digest);
        const put = await call("PUT", place.href, { body: new Uint8Array(bytes) });
        if (put.status !== 201) throw new Error(`blob: ${put.status} ${await put.text()}`);
      }
      for (const [at, { digest, mediaType, bytes }] of manifests.entries()) {
        const name = at === manifests.length - 1 ? tag : digest;
        const body = new Uint8Array(bytes);
        const put = await call("PUT", `${repository}/manifests/${name}`, {
          body,
          headers: { "content-type": mediaType },
        });
        if (put.status !== 201) throw new Error(`manifest: ${put.status} ${await put.text()}`);
      }
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}
