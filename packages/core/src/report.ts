import type { SandboxerError } from "@sandboxer/contract";

/** Told of what goes wrong with no caller there to hear it. */
export type Report = (what: string, error: SandboxerError) => void;

export const reportAsWarning: Report = (what, { code, message }) =>
  process.emitWarning(`${what}: ${message}`, { type: "SandboxerWarning", code });
