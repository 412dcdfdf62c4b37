import { z } from "zod";
import { SandboxerError } from "./errors.ts";

export const SANDBOX_STATES = [
  "requested",
  "provisioning",
  "running",
  "paused",
  "destroying",
  "destroyed",
  "failed",
  "expired",
  "lost",
] as const;
export const sandboxStateSchema = z.enum(SANDBOX_STATES);
export type SandboxState = z.infer<typeof sandboxStateSchema>;

/**
 * The one lifecycle. `expired` and `lost` are ends like `destroyed`: the first by the clock, the
 * second because the backend no longer knows the sandbox.
 */
const TRANSITIONS: Readonly<Record<SandboxState, readonly SandboxState[]>> = {
  requested: ["provisioning", "failed"],
  provisioning: ["running", "failed", "destroying", "lost"],
  running: ["paused", "destroying", "expired", "lost"],
  paused: ["running", "destroying", "expired", "lost"],
  destroying: ["destroyed", "expired", "lost"],
  destroyed: [],
  failed: [],
  expired: [],
  lost: [],
};

export function canMove(from: SandboxState, to: SandboxState): boolean {
  return TRANSITIONS[from].includes(to);
}

export function assertMove(from: SandboxState, to: SandboxState): void {
  if (canMove(from, to)) return;
  throw new SandboxerError("invalid_state", `a ${from} sandbox cannot become ${to}`, {
    details: { from, to },
  });
}

/** Nothing follows: no process, no meter, no way back. */
export function isOver(state: SandboxState): boolean {
  return TRANSITIONS[state].length === 0;
}
