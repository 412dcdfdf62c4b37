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

export interface Landing {
  /** Has boxd write a layer into the folder that the sandbox's workspace is of. */
  land(ref: string, layer: AsyncIterable<Uint8Array>, options: ApplyOptions): Promise<Applied>;
  /** Makes good what a landing left that died. */
  recover(): Promise<void>;
}

/** The bytes of a layer pass through here unread: everything in it is hostile, and boxd takes it so. */
export function createLanding(dir: string, boxdPath: string): Landing {
  const recover = () => recoverApplies(boxdPath, dir);

  return {
    recover,
    async land(ref, layer, { paths = [], force = false }) {
      await recover();
      const input = headed(JSON.stringify({ paths, force, bytes: MOST_BYTES_BACK }), layer);
      return judge(await askBoxd(boxdPath, ["apply", "--box", join(dir, "boxes", ref)], input));
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
