import type { Viewer } from "../store.ts";

/** Of a row of `sandboxes`: takes what `seenBy` gives, in that order. */
export const VISIBLE = `(visibility = 'org' OR (visibility = 'team' AND team = ?) OR instr(lineage, ?) > 0
  OR EXISTS (SELECT 1 FROM attachments WHERE attachments.sandbox_id = sandboxes.id
    AND attachments.principal_id = ? AND implicit = 0 AND detached_at_ms IS NULL))`;

/** Every lineage begins with a slash, so a slash alone is everybody's. */
export function seenBy(viewer: Viewer | undefined): [team: string, lineage: string, attached: string] {
  const principalId = viewer?.principalId ?? "";
  return [viewer?.team ?? "", viewer ? `/${principalId}/` : "/", principalId];
}
