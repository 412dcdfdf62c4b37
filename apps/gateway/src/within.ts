import type {
  Changes,
  CreateBody,
  ExecInput,
  Metrics,
  Mirror,
  Principal,
  Process,
  Sandbox,
  TerminalSize,
} from "@sandboxer/contract";
import type { Once } from "@sandboxer/core";
import { type InstallationOptions, openInstallation } from "./installation.ts";
import { silent } from "./log.ts";

const LIVING = ["running", "paused", "provisioning"] as const;

/** A sandbox as a single command uses it; the SDK's handle has the same members. */
export interface Handle {
  readonly id: string;
  readonly info: Sandbox;
  exec(input: ExecInput): Promise<Process & { resize(size: TerminalSize): Promise<void> }>;
  readonly workspace: Changes & Mirror;
  metrics(): Promise<Metrics>;
  destroy(): Promise<Sandbox>;
  through(attachmentId: string): Pick<Handle, "exec">;
}

/** An installation opened for one command of this process: the whole waist, without HTTP before it. */
export interface Within {
  readonly sandboxes: {
    create(body: CreateBody, once?: Once): Promise<Handle>;
    get(idOrName: string): Promise<Handle>;
    living(): Promise<readonly Sandbox[]>;
  };
  close(): Promise<void>;
}

export async function openWithin(home: string, options: InstallationOptions): Promise<Within> {
  const { core, apiKey, close } = await openInstallation(home, silent, options);
  // What a crash left is put right beside the command, which need not wait for it.
  const reconciled = core.start().catch(() => {});
  const principal = await core.authenticate(apiKey);
  const actor = (who: Principal, id: string): Pick<Handle, "exec"> => ({
    async exec(input) {
      const process = await core.exec(who, id, input);
      return { ...process, resize: (size) => core.resize(who, id, process.id, size) };
    },
  });
  const handleOf = (info: Sandbox): Handle => ({
    id: info.id,
    info,
    ...actor(principal, info.id),
    through: (attachmentId) => actor({ ...principal, attachmentId }, info.id),
    workspace: {
      changes: (options) => core.diff(principal, info.id, options),
      apply: (options) => core.apply(principal, info.id, options),
      rollback: (options) => core.rollback(principal, info.id, options),
      points: () => core.listPoints(principal, info.id),
      sync: () => core.sync(principal, info.id),
    },
    metrics: () => core.metrics(principal, info.id),
    destroy: () => core.destroy(principal, info.id),
  });
  return {
    sandboxes: {
      create: async (body, once) => handleOf(await core.create(principal, body, once)),
      get: async (idOrName) => handleOf(await core.get(principal, idOrName)),
      living: async () => (await core.list(principal, { states: LIVING })).sandboxes,
    },
    async close() {
      await reconciled;
      await close();
    },
  };
}
