import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Files } from "@sandboxer/contract";
import { conformance, type Subject } from "@sandboxer/contract/conformance";
import { createCore, createRootKey, openSqliteStore } from "@sandboxer/core";
import { createLocalExtension } from "@sandboxer/extensions/local";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "./remove-engine.ts";

const { describe } = await requires("linux-userns", "boxd");

/** Ring two: the same promises after identity, policy, route, hold and settle. */
async function openThroughCore(): Promise<Subject> {
  const dir = await mkdtemp(join(tmpdir(), "sandboxer-core-"));
  const store = openSqliteStore(join(dir, "state.db"));
  const { principal } = await createRootKey(store);
  const extension = createLocalExtension({ dir: join(dir, "engine") });
  const core = await createCore({ store, extensions: [extension] });
  await core.start();
  return {
    async create(input = {}) {
      const { id } = await core.create(principal, { ttlMs: 900_000, ...input });
      return {
        id,
        exec: (request) => core.exec(principal, id, request),
        attachProcess: (process, from) => core.attachProcess(principal, id, process, from),
        processes: () => core.ps(principal, id),
        pty: { resize: (process, size) => core.resize(principal, id, process, size) },
        ports: { dial: (port) => core.dial(principal, id, port) },
        pause: () => core.pause(principal, id),
        resume: () => core.resume(principal, id),
        stop: () => core.stop(principal, id),
        start: () => core.resume(principal, id),
        metrics: () => core.metrics(principal, id),
        files: lazily(() => core.files(principal, id)),
      };
    },
    async list() {
      const { sandboxes } = await core.list(principal, { states: ["running", "paused"], limit: 200 });
      return sandboxes.map(({ id }) => id);
    },
    async destroy(id) {
      await core.destroy(principal, id);
    },
    async close() {
      await core.close();
      await store.close();
      await removeEngine(join(dir, "engine"), dir);
    },
  };
}

/** Files whose way in is asked for at each use, as a front would. */
function lazily(open: () => Promise<Files>): Files {
  return new Proxy({} as Files, {
    get:
      (_, name: keyof Files) =>
      async (...given: unknown[]) =>
        ((await open())[name] as (...given: unknown[]) => unknown)(...given),
  });
}

describe("ring two", () => conformance("local, through core", openThroughCore));
