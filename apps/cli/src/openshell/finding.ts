/**
 * What became of a clause of somebody else's policy. `narrowed`: less is allowed than it says.
 * `unenforced`: it forbids something that is not forbidden here. Nothing is ever widened.
 */
export interface Finding {
  readonly where: string;
  readonly what: "narrowed" | "unenforced";
  readonly why: string;
}

export type Find = (what: Finding["what"], why: string, where?: string) => void;

export type Members = Readonly<Record<string, unknown>>;

export function membersOf(value: unknown): Members {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Members) : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
