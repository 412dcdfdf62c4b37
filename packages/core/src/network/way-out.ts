import { type GuardedNetwork, type Sandbox, SandboxerError } from "@sandboxer/contract";

/** What it may reach; whatever was made without a way out is refused. */
export function wayOutOf({ spec }: Sandbox): GuardedNetwork {
  if (spec.network.egress === "guarded") return spec.network;
  throw new SandboxerError("invalid_state", "this sandbox was made without a way out, and gets none later", {
    hint: "Make one that has: `sandboxer create --allow HOST`, or `network` of a create.",
  });
}
