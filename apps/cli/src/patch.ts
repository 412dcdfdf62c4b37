import { styleText } from "node:util";
import type { WorkspaceChange } from "@sandboxer/contract";
import { printable } from "./printable.ts";

const TYPE_BITS: Readonly<Record<string, number>> = { file: 0o100000, symlink: 0o120000 };

/** A change as `git diff` writes it, so that `git apply` and every viewer understand it. */
export function patchOf(change: WorkspaceChange): string {
  const lines = headOf(change);
  if (lines.length === 0) return "";
  const { before, after, a, b } = sidesOf(change);
  const [from, to] = [isTold(before) ? a : "/dev/null", isTold(after) ? b : "/dev/null"];
  if (change.patch) lines.push(`--- ${from}`, `+++ ${to}`, change.patch.replace(/\n$/, ""));
  else if (change.binary || change.large) lines.push(`Binary files ${from} and ${to} differ`);
  return `${lines.join("\n")}\n`;
}

/** What it is about. Nothing of a folder: git knows none. */
export function headOf(change: WorkspaceChange): string[] {
  const { before, after, a, b } = sidesOf(change);
  if (!isTold(before) && !isTold(after)) return [];
  const lines = [`diff --git ${a} ${b}`];
  const [oldMode, newMode] = [bits(before, change.oldMode), bits(after, change.mode)];
  if (!isTold(before)) lines.push(`new file mode ${newMode}`);
  else if (!isTold(after)) lines.push(`deleted file mode ${oldMode}`);
  else if (oldMode !== newMode) lines.push(`old mode ${oldMode}`, `new mode ${newMode}`);
  return lines;
}

function sidesOf({ change, path, type, oldType = type }: WorkspaceChange) {
  return {
    before: change === "added" ? undefined : oldType,
    after: change === "deleted" ? undefined : type,
    a: quoted(`a/${path}`),
    b: quoted(`b/${path}`),
  };
}

function isTold(type: string | undefined): boolean {
  return type === "file" || type === "symlink";
}

/** Git keeps no more of a mode than whether it can be executed. */
function bits(type: string | undefined, mode = 0): string {
  if (type === "symlink") return "120000";
  return ((TYPE_BITS[type ?? "file"] ?? 0o100000) | (mode & 0o111 ? 0o755 : 0o644)).toString(8);
}

/** As git quotes what a terminal or a parser could misread. */
function quoted(path: string): string {
  if (!/[\p{Cc}"\\\p{Bidi_Control}]/u.test(path)) return path;
  const escaped = path.replace(/[\p{Cc}"\\\p{Bidi_Control}]/gu, (character) =>
    character === '"' || character === "\\"
      ? `\\${character}`
      : [...new TextEncoder().encode(character)]
          .map((byte) => `\\${byte.toString(8).padStart(3, "0")}`)
          .join(""),
  );
  return `"${escaped}"`;
}

const MARKS = { added: "A", changed: "M", deleted: "D" } as const;

/** One line: what happened, to what, and how much of it. */
export function summaryOf(change: WorkspaceChange): string {
  const { path, type, mode, oldMode, added, removed } = change;
  const isFolder = type === "directory" ? "/" : "";
  const notes = [
    added !== undefined && `+${added} -${removed}`,
    change.binary && "binary",
    change.large && "large",
    change.oldType && change.oldType !== type && `was a ${change.oldType}`,
    mode !== undefined && oldMode !== undefined && mode !== oldMode && `${octal(oldMode)} → ${octal(mode)}`,
    type === "other" && "stays in the sandbox",
  ].filter(Boolean);
  return `${MARKS[change.change]}  ${quoted(path + isFolder)}${notes.length > 0 ? `  (${notes.join(", ")})` : ""}`;
}

const octal = (mode: number): string => mode.toString(8).padStart(4, "0");

const COLORS = [
  [/^(?:diff|---|\+\+\+|new file|deleted file|old mode|new mode|rename|Binary)/, "bold"],
  [/^@@/, "cyan"],
  [/^(?:\+|A {2})/, "green"],
  [/^(?:-|D {2})/, "red"],
] as const;

/**
 * For a terminal: in git's colors, and with nothing in it that the terminal would obey, since a
 * sandbox wrote it. What a program reads stays the patch, byte for byte.
 */
export function forTerminal(text: string): string {
  if (!process.stdout.isTTY) return text;
  const paint = (raw: string) => {
    const line = raw.split("\t").map(printable).join("\t");
    const color = COLORS.find(([begins]) => begins.test(line))?.[1];
    return color ? styleText(color, line, { stream: process.stdout }) : line;
  };
  return text.split("\n").map(paint).join("\n");
}
