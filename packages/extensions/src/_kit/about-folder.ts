import { SandboxerError } from "@sandboxer/contract";

/** That boxd refuses a folder is a rule, and there is a way past it. */
export function aboutFolder(error: unknown): unknown {
  if (!SandboxerError.is(error) || error.code !== "permission_denied") return error;
  return new SandboxerError("policy_denied", error.message, {
    details: { rule: "workspace" },
    hint: "Choose a narrower folder. For a workspace, `allowSensitive` (--allow-sensitive) goes past this, and is recorded.",
    cause: error,
  });
}
