import { join } from "node:path";
import type { Extension } from "@sandboxer/contract";
import {
  type Core,
  createCore,
  createSealer,
  enrolRootKey,
  OPEN_INTERNET,
  openKeyFile,
  openSqliteStore,
} from "@sandboxer/core";
import { createGuard, type GuardOptions, reachOf } from "@sandboxer/egress";
import { findBoxd } from "@sandboxer/extensions/boxd";
import { createDockerExtension } from "@sandboxer/extensions/docker";
import { createLocalExtension } from "@sandboxer/extensions/local";
import { ensureBlockStore } from "./block-store.ts";
import { loadConfig } from "./config/load.ts";
import type { Config } from "./config/schema.ts";
import { sweepDrafts } from "./drafts.ts";
import type { Log } from "./log.ts";
import { makeHome } from "./make-home.ts";
import { openRootKey } from "./root-key.ts";
import { openSigningKey } from "./signing-key.ts";
import { loadExtensions } from "./third-party.ts";

export interface InstallationOptions {
  /** Sandboxes kept ready of each kind that is asked for; none, unless said otherwise. */
  readonly pool?: number;
  /** Left out, this home's own. */
  readonly config?: Config;
  /** What is created ends with this process, however that comes. */
  readonly tethered?: boolean;
  /** Stays, and guards what others have left running. */
  readonly resident?: boolean;
  /** For tests, which give the guard a network of its own. */
  readonly guard?: Partial<GuardOptions>;
  /** For tests, which have less: how long a connection waits for somebody's word. */
  readonly askPatienceMs?: number;
  /** For tests: told of every step between two side effects. */
  readonly failpoint?: (place: string) => void;
}

export interface Installation {
  readonly core: Core;
  /** The root key. */
  readonly apiKey: string;
  /** Lets go of everything; sandboxes live on. */
  close(): Promise<void>;
}

/** One for each class of isolation that the operator lets the daemon give. */
function dockerExtensions(home: string, { docker: { gvisor, ...options } }: Config): Extension[] {
  const runc = createDockerExtension({ dir: join(home, "docker"), home, ...options });
  if (!gvisor) return [runc];
  return [
    runc,
    createDockerExtension({ dir: join(home, "docker-gvisor"), home, ...options, runtime: "runsc" }),
  ];
}

/** As the guard judges: this machine's own addresses are nobody else's, whatever network they are in. */
const isOpen = (address: string): boolean => reachOf(address) === "open";

/** What one home stands on: its store, its extensions and the core. The only place that names extensions. */
export async function openInstallation(
  home: string,
  log: Log,
  options: InstallationOptions = {},
): Promise<Installation> {
  const { pool = 0, tethered = false, resident = false, failpoint = () => {} } = options;
  makeHome(home);
  sweepDrafts(home);
  await ensureBlockStore(home);
  const config = options.config ?? (await loadConfig({ home }));
  const apiKey = openRootKey(home);
  const store = openSqliteStore(join(home, "state.db"), { syncsAtClose: tethered });
  try {
    await enrolRootKey(store, apiKey);
    const builtIn = [
      createLocalExtension({
        ...{ dir: join(home, "engine"), home, pool, failpoint },
        images: { ...config.images, isOpen },
      }),
      ...dockerExtensions(home, config),
    ];
    const signingKey = opened(() => openSigningKey(home));
    // What stays says at its start that a key is no key; a short command seldom signs anything.
    if (resident) signingKey();
    const guard = createGuard({
      boxdPath: findBoxd(),
      dir: join(home, "guard"),
      ...dnsByEnvironment(),
      ...options.guard,
    });
    const core = await createCore({
      store,
      builtIn,
      extensions: await loadExtensions(home, config.extensions),
      prices: config.prices,
      allowUnsafeRuntime: config.allowUnsafeRuntime,
      sealer: createSealer(openKeyFile(join(home, "secrets.key"))),
      packageHosts: config.packageHosts,
      trust: config.trust,
      tethered,
      resident,
      guard,
      webhookNetwork: { ...OPEN_INTERNET, isAllowed: isOpen },
      failpoint,
      askPatienceMs: options.askPatienceMs,
      volumesDir: join(home, "volumes"),
      snapshots: {
        dir: join(home, "snapshots"),
        get privateKey() {
          return signingKey();
        },
        mostBytes: config.snapshots.maximumMiB * 2 ** 20,
      },
      report: (what, { code, message }) => log({ level: "error", event: "background", what, code, message }),
    });
    const close = async () => {
      await core.close();
      await guard.close();
      await store.close();
    };
    return { core, apiKey, close };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Once, and when first asked for. */
function opened<T extends object>(open: () => T): () => T {
  let known: T | undefined;
  return () => {
    known ??= open();
    return known;
  };
}

/** Which resolvers the guard asks; this machine's, unless said otherwise. */
function dnsByEnvironment(): { dns?: string[] } {
  const servers = process.env.SANDBOXER_GUARD_DNS?.split(",").flatMap((part) => part.trim() || []);
  return servers?.length ? { dns: servers } : {};
}
