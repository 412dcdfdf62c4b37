import type { PolicyFinding } from "@sandboxer/contract";

export type Find = (what: PolicyFinding["what"], why: string, where?: string) => void;

export type Members = Readonly<Record<string, unknown>>;

export function membersOf(value: unknown): Members {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Members) : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
