import { type Box, type Changes, type Sandbox, SandboxerError } from "@sandboxer/contract";
import { demand } from "./facet.ts";

/** What is done with the changes to a sandbox's workspace; who asks for one that has none is told how to get one. */
export function changesOf({ spec }: Sandbox, box: Box): Changes {
  if (spec.workspace) return demand("workspaces", box.workspace);
  throw new SandboxerError("invalid_request", "this sandbox has no workspace", {
    hint: "Give one its folder when it is made: `sandboxer run -w . -- …`, or `workspace` of a create.",
  });
}
