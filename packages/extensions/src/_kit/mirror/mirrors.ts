import { type Mirror, SandboxerError, type SandboxSpec } from "@sandboxer/contract";
import { aboutFolder } from "../about-folder.ts";
import { recoverApplies } from "../boxd/applies.ts";
import type { Connection } from "../boxd/connection.ts";
import { sensitivePlaces } from "../sensitive.ts";
import { hostFolder, type Pinned, pinFolder } from "./host-folder.ts";
import { insideFolder } from "./inside.ts";
import { openMirror } from "./mirror.ts";
import { type MirrorState, mirrorStates } from "./state.ts";

/** A folder that a sandbox is to have a copy of. */
export interface Copied {
  readonly mode: "mirror" | "remote";
  readonly target: string;
  readonly pinned: Pinned;
  /** It begins as a copy of another sandbox, whose folder comes with it. */
  readonly isRestored: boolean;
}

/** Workspaces that are copies, for every extension that has boxd inside and the folder at hand. */
export function createMirrors(dir: string, boxdPath: string, ownFolders: readonly string[]) {
  const states = mirrorStates(dir);
  const last = new Map<string, Promise<unknown>>();
  /** One after the other for each sandbox, whoever asks. */
  const inTurn = <T>(ref: string, work: () => Promise<T>): Promise<T> => {
    const turn = (last.get(ref) ?? Promise.resolve()).catch(() => {}).then(work);
    last.set(ref, turn);
    const forget = () => last.get(ref) === turn && last.delete(ref);
    turn.then(forget, forget);
    return turn;
  };
  const openWith = async (ref: string, { base: _, ...terms }: MirrorState, connection: Connection) =>
    openMirror(hostFolder(boxdPath, dir, terms.pinned), await insideFolder(connection, terms.target), {
      read: async () => (await states.read(ref))?.base ?? { host: new Map(), inside: new Map() },
      write: (base) => states.write(ref, { ...terms, base }),
    });

  return {
    /** Before the sandbox is made: the folder that is meant, if it is to have a copy of one. */
    async pin({ workspace, from }: SandboxSpec, layers?: readonly string[]): Promise<Copied | undefined> {
      if (workspace?.mode !== "mirror" && workspace?.mode !== "remote") return undefined;
      const { mode, source, allowSensitive } = workspace;
      const target = workspace.target.replace(/\/+$/, "");
      if (target === "" || target.split("/").includes("..")) {
        throw new SandboxerError("invalid_request", "workspace.target: a copy needs a folder of its own");
      }
      const kept = allowSensitive ? { forbidden: [], tooWide: [] } : sensitivePlaces(ownFolders);
      try {
        const pinned = await pinFolder(boxdPath, source, kept);
        return { mode, target, pinned, isRestored: from !== undefined || layers !== undefined };
      } catch (error) {
        throw aboutFolder(error);
      }
    },
    async begin(ref: string, { isRestored, ...terms }: Copied, connection: Connection): Promise<void> {
      const state = { ...terms, base: { host: new Map(), inside: new Map() } };
      await states.write(ref, state);
      if (isRestored) return;
      await inTurn(ref, async () => (await openWith(ref, state, connection)).seed());
    },
    /** Of a sandbox that has a mirror, the way to bring both sides together. */
    async open(ref: string, connection: Connection): Promise<{ mirror?: Mirror }> {
      const state = await states.read(ref);
      if (state?.mode !== "mirror") return {};
      return {
        mirror: { sync: () => inTurn(ref, async () => (await openWith(ref, state, connection)).sync()) },
      };
    },
    /** It was made without a copy, under an id that nobody had before. */
    hasNone: states.hasNone,
    forget: states.forget,
    /** Of the sandboxes that are listed, which are all there are. What is left of others goes. */
    async keepOf<T extends { readonly ref: string }>(list: () => Promise<T[]>): Promise<T[]> {
      const boxes = await states.keepOf(list);
      await recoverApplies(boxdPath, dir);
      return boxes;
    },
  };
}
