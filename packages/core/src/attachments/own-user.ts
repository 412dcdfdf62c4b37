import { type Attachment, type Sandbox, SandboxerError } from "@sandboxer/contract";

/**
 * Whether one that may write is a user of its own. Who was let in as one lets nobody in as the
 * ordinary user, who can become root there.
 */
export function hasOwnUser(
  asked: "own" | "ordinary" | undefined,
  sandbox: Sandbox,
  imposed: readonly Attachment[],
): boolean {
  const bound = imposed.some(({ uid }) => uid !== undefined);
  if (bound && asked === "ordinary") {
    throw new SandboxerError(
      "policy_denied",
      "attachment: who has a user of its own lets in none as another",
      {
        details: { rule: "user" },
      },
    );
  }
  const own = bound || asked === "own";
  if (own) refuseHostsFolder(sandbox);
  return own;
}

/**
 * Files of the host's folder are the ordinary user's, with the modes that they have there: another
 * user could write them only if every one of them were changed, and so copied, first.
 */
function refuseHostsFolder({ spec: { workspace } }: Sandbox): void {
  if (!workspace || workspace.mode === "read-only") return;
  throw new SandboxerError("unsupported", "a user of its own cannot write in a folder of the host's", {
    details: { facet: "users", mode: workspace.mode },
    hint: "Attach it as the ordinary user or read-only, or bring the project in as a copy (`sandboxer cp`).",
  });
}
