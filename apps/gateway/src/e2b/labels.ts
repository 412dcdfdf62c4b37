import type { Sandbox } from "@sandboxer/contract";

const PREFIX = "e2b.";

/**
 * What E2B's clients said of a sandbox that this house has no word for. It lies with the sandbox's
 * labels, so it is written with it, listed with it, and gone with it.
 */
export interface Notes {
  /** The template's name as it was asked for. */
  readonly template?: string;
  readonly "on-timeout"?: "pause" | "stop";
  readonly "auto-resume"?: "true";
  /** How much longer than E2B's end its own end is, so that there is something left to pause. */
  readonly "retention-ms"?: string;
  /** `false` where ports inside need a word of their own. */
  readonly public?: "false";
  readonly "mask-host"?: string;
  readonly internet?: "true" | "false";
  /** The volume that it is there to keep within reach; nobody made it by name. */
  readonly volume?: string;
}

export function labelsFor(metadata: Readonly<Record<string, string>>, notes: Notes): Record<string, string> {
  const noted = Object.entries(notes).map(([name, value]) => [`${PREFIX}${name}`, value] as const);
  return { ...metadata, ...Object.fromEntries(noted.filter(([, value]) => value !== undefined)) };
}

export function notesOf({ spec }: Pick<Sandbox, "spec">): Notes {
  const noted = Object.entries(spec.labels).filter(([name]) => name.startsWith(PREFIX));
  return Object.fromEntries(noted.map(([name, value]) => [name.slice(PREFIX.length), value]));
}

/** The caller's own labels, which E2B calls metadata. */
export function metadataOf({ spec }: Pick<Sandbox, "spec">): Record<string, string> {
  return Object.fromEntries(Object.entries(spec.labels).filter(([name]) => !name.startsWith(PREFIX)));
}

/** Under which label a note lies. */
export function noteLabel(note: keyof Notes): string {
  return PREFIX + note;
}

export function isNote(name: string): boolean {
  return name.startsWith(PREFIX);
}
