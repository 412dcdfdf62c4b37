import { randomBytes } from "node:crypto";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import {
  type Applied,
  type ApplyOptions,
  appliedSchema,
  conflictsSchema,
  SandboxerError,
} from "@sandboxer/contract";
import { headed, MOST_BYTES_BACK, recoverApplies } from "../_kit/boxd/applies.ts";
import { askBoxd } from "../_kit/boxd/command.ts";

const NAMED_AT_MOST = 5;

/** What boxd leaves of an apply that was done. */
interface Said {
  readonly id: string;
  readonly answer: Record<string, unknown>;
}

export interface Landing {
  /** Has boxd write a layer into the folder that the sandbox's workspace is of. */
  land(ref: string, layer: AsyncIterable<Uint8Array>, options: ApplyOptions): Promise<Applied>;
  /** Makes good what landings left that died, and tells of those that were done and nobody lived to tell of. */
  recover(): Promise<ReadonlyMap<string, readonly Applied[]>>;
}

/** The bytes of a layer pass through here unread: everything in it is hostile, and boxd takes it so. */
export function createLanding(dir: string, boxdPath: string): Landing {
  const applied = join(dir, "applied");
  const awaited = new Set<string>();

  const completeOthers = () => recoverApplies(boxdPath, dir);

  async function toldUnder(ticket: string): Promise<Said | undefined> {
    const text = await readFile(join(applied, ticket), "utf8").catch(() => undefined);
    return text === undefined ? undefined : (JSON.parse(text) as Said);
  }

  /** What was begun is carried on by whoever comes next: then it is done, and has to be told so. */
  async function whatBecameOf(ticket: string, error: unknown): Promise<Record<string, unknown>> {
    if (!SandboxerError.is(error) || error.code !== "extension_failed") throw error;
    await completeOthers();
    const told = await toldUnder(ticket);
    if (!told) throw error;
    return told.answer;
  }

  return {
    async recover() {
      await completeOthers();
      const untold = new Map<string, Applied[]>();
      for (const ticket of await readdir(applied).catch(() => [])) {
        if (awaited.has(ticket)) continue;
        const told = await toldUnder(ticket);
        if (told) untold.set(told.id, [...(untold.get(told.id) ?? []), judge(told.answer)]);
        await rm(join(applied, ticket), { force: true });
      }
      return untold;
    },

    async land(ref, layer, { paths = [], force = false }) {
      await completeOthers();
      const ticket = randomBytes(16).toString("hex");
      const input = headed(JSON.stringify({ paths, force, bytes: MOST_BYTES_BACK, ticket }), layer);
      awaited.add(ticket);
      try {
        const asked = askBoxd(boxdPath, ["apply", "--box", join(dir, "boxes", ref)], input);
        return judge(await asked.catch((error) => whatBecameOf(ticket, error)));
      } finally {
        awaited.delete(ticket);
        await rm(join(applied, ticket), { force: true });
      }
    },
  };
}

function judge({ conflicts, ...rest }: Record<string, unknown>): Applied {
  const found = conflictsSchema.parse(conflicts);
  if (found.length === 0) return appliedSchema.parse(rest);
  const named = found.slice(0, NAMED_AT_MOST).map(({ path, why }) => `${path}: ${why}`);
  const more = found.length > NAMED_AT_MOST ? `, and ${found.length - NAMED_AT_MOST} more` : "";
  throw new SandboxerError("conflict", `nothing was applied. ${named.join("; ")}${more}`, {
    details: { conflicts: found },
    hint: "Name the paths to apply, or overwrite what is here with `force` (`--force`); `diff` shows both sides.",
  });
}
