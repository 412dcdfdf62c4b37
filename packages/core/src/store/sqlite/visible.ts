import type { Viewer } from "../store.ts";

/** Of a row of `sandboxes`: takes the viewer's team and lineage. */
export const VISIBLE = "(visibility = 'org' OR (visibility = 'team' AND team = ?) OR instr(lineage, ?) > 0)";

/** Every lineage begins with a slash, so a slash alone is everybody's. */
export function seenBy(viewer: Viewer | undefined): { lineage: string; team: string } {
  return { lineage: viewer ? `/${viewer.principalId}/` : "/", team: viewer?.team ?? "" };
}
