import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Box,
  CONTRACT_VERSION,
  type Extension,
  type Files,
  type ListedBox,
  type Manifest,
  type Probe,
  type Process,
  SandboxerError,
  type StopFacet,
} from "@sandboxer/contract";
import { startProcess } from "./plain-process.ts";

/** What a test may change while it runs. Boxes are folders under `root`, so they outlive a gateway. */
export interface PlainExtension extends Extension {
  readonly root: string;
  /** Boxes that are paused; only an extension whose manifest lists it can. */
  readonly paused: Set<string>;
  /** Boxes of which only the files are there. */
  readonly stopped: Set<string>;
  /** What was run, as whom and through which attachment. */
  readonly executed: { user?: string | undefined; attachmentId: string }[];
  readonly calls: { probe: number; create: number; attach: number; destroy: number };
  probeAnswer: () => Promise<Probe>;
  /** Runs before a call does its work; throws to make it fail. */
  before: Partial<Record<"create" | "attach" | "list" | "destroy", () => Promise<void>>>;
}

/** Runs commands as plain child processes in a folder. It isolates nothing: for tests of core only. */
export function createPlainExtension(root: string, manifest: Partial<Manifest> = {}): PlainExtension {
  const boxes = new Map<string, Set<Box>>();
  const folder = (ref: string) => join(root, ref);
  /** As a real backend: it takes a moment, and knows only what is there. */
  const present = async <T>(ref: string, act: () => T): Promise<T> => {
    await new Promise((resolve) => setImmediate(resolve));
    if (!existsSync(folder(ref))) throw new SandboxerError("not_found", `no box ${ref}`);
    return act();
  };
  const attached = (ref: string): Box => {
    const box = openBox(folder(ref), ref, extension);
    boxes.set(ref, (boxes.get(ref) ?? new Set()).add(box));
    return box;
  };
  const extension: PlainExtension = {
    root,
    paused: new Set(),
    stopped: new Set(),
    executed: [],
    ...(manifest.facets?.includes("pause") && {
      pause: {
        pause: async (ref) => void (await present(ref, () => extension.paused.add(ref))),
        resume: async (ref) => void (await present(ref, () => extension.paused.delete(ref))),
      },
    }),
    ...(manifest.facets?.includes("stop") && { stop: stopping(present, attached, () => extension) }),
    calls: { probe: 0, create: 0, attach: 0, destroy: 0 },
    before: {},
    probeAnswer: async () => ({ status: "offer", findings: [] }),
    manifest: { ...PLAIN_MANIFEST, ...manifest },
    probe() {
      extension.calls.probe++;
      return extension.probeAnswer();
    },
    async create(spec, { sandboxId, installationId }) {
      extension.calls.create++;
      await extension.before.create?.();
      mkdirSync(folder(`box-${sandboxId}`), { recursive: true });
      const listed = { ref: `box-${sandboxId}`, sandboxId, hostId: "here", installationId };
      writeFileSync(join(folder(listed.ref), ".box.json"), JSON.stringify({ ...listed, env: spec.env }));
      return attached(listed.ref);
    },
    async attach(ref) {
      extension.calls.attach++;
      await extension.before.attach?.();
      if (!existsSync(folder(ref))) throw new SandboxerError("not_found", `no box ${ref}`);
      if (extension.paused.has(ref)) throw new SandboxerError("invalid_state", `${ref} is paused`);
      return attached(ref);
    },
    async list() {
      await extension.before.list?.();
      const names = existsSync(root) ? readdirSync(root) : [];
      return names.map((ref) => ({
        ...(JSON.parse(readFileSync(join(folder(ref), ".box.json"), "utf8")) as ListedBox),
        ...(extension.pause && { paused: extension.paused.has(ref) }),
        ...(extension.stop && { stopped: extension.stopped.has(ref) }),
      }));
    },
    async destroy(ref) {
      extension.calls.destroy++;
      await extension.before.destroy?.();
      rmSync(folder(ref), { recursive: true, force: true });
      extension.paused.delete(ref);
      for (const box of boxes.get(ref) ?? []) box.close();
      boxes.delete(ref);
    },
    async extend() {},
    async close() {
      for (const open of boxes.values()) for (const box of open) box.close();
    },
  };
  return extension;
}

type Present = <T>(ref: string, act: () => T) => Promise<T>;

function stopping(
  present: Present,
  attached: (ref: string) => Box,
  extension: () => Pick<PlainExtension, "stopped" | "paused">,
): StopFacet {
  return {
    stop: (ref) =>
      present(ref, () => {
        extension().stopped.add(ref);
        extension().paused.delete(ref);
      }),
    start: (_, { sandboxId }) =>
      present(`box-${sandboxId}`, () => {
        extension().stopped.delete(`box-${sandboxId}`);
        return attached(`box-${sandboxId}`);
      }),
    freeze: async () => undefined,
    read: (_, { sandboxId }) => present(`box-${sandboxId}`, () => attached(`box-${sandboxId}`)),
  };
}

const PLAIN_MANIFEST: Manifest = {
  schema: 1,
  contract: CONTRACT_VERSION,
  id: "plain",
  title: "Plain processes",
  hosting: "self",
  isolation: { class: "process", technology: "none" },
  images: ["host"],
  facets: [],
  persistence: ["ephemeral"],
  egress: "enforced",
  credentials: "none",
  regions: [],
  limits: {},
  price: { basis: "provisioned", microUsdPerHour: 0 },
};

function openBox(folder: string, ref: string, { manifest, executed }: PlainExtension): Box {
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  const { env } = JSON.parse(readFileSync(join(folder, ".box.json"), "utf8"));
  const processes = new Map<string, Process>();
  const owners = new Map<string, string>();
  return {
    ref,
    hostId: "here",
    bestEffort: ["isolation: there is none"],
    closed,
    close,
    files: plainFiles(folder),
    ...(manifest.facets.includes("snapshots") && { snapshots: plainSnapshots }),
    ...(manifest.facets.includes("users") && {
      users: { admit: async (uid, { writes } = {}) => `${writes ? "agent" : "guest"}${uid}` },
    }),
    async exec(request, attachmentId) {
      executed.push({ user: request.user, attachmentId });
      const process = await startProcess(folder, { ...request, env: { ...env, ...request.env } }, closed);
      processes.set(process.id, process);
      owners.set(process.id, attachmentId);
      return process;
    },
    processes: async () =>
      [...processes.values()].map(({ id }) => ({
        id,
        argv: [],
        startedAtMs: 0,
        pty: false,
        attachmentId: owners.get(id) ?? "",
        stdoutBytes: 0,
        stderrBytes: 0,
      })),
    async attachProcess(id) {
      const process = processes.get(id);
      if (!process) throw new SandboxerError("not_found", `no process ${id}`);
      return process;
    },
  };
}

/** One layer of a few bytes, for tests of what surrounds it. */
const plainSnapshots: NonNullable<Box["snapshots"]> = {
  below: 0,
  async capture() {
    return (async function* () {
      yield new TextEncoder().encode("layer");
    })();
  },
  async restore(_, data) {
    for await (const _part of data);
  },
};

function plainFiles(folder: string): Files {
  const unsupported = () => Promise.reject(new SandboxerError("unsupported", "not in plain boxes"));
  return {
    async read(path) {
      const { size, mode, mtimeMs } = statSync(join(folder, path));
      async function* data() {
        yield readFileSync(join(folder, path));
      }
      return { size, mode: mode & 0o7777, mtimeMs, data: data() };
    },
    async write(path, source) {
      const parts: Uint8Array[] = [];
      for await (const part of source) parts.push(part);
      if (!existsSync(folder)) throw new SandboxerError("sandbox_gone", "the box is gone");
      writeFileSync(join(folder, path), Buffer.concat(parts));
      return parts.reduce((total, part) => total + part.length, 0);
    },
    stat: unsupported,
    list: unsupported,
    mkdir: unsupported,
    move: unsupported,
    remove: unsupported,
    chmod: unsupported,
    symlink: unsupported,
    xattrs: unsupported,
    setXattr: unsupported,
    removeXattr: unsupported,
    watch: unsupported,
    pack: unsupported,
    unpack: unsupported,
  };
}
