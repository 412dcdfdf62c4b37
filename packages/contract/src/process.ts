import { z } from "zod";
import { envSchema } from "./spec.ts";

/** How a process ended. A non-zero code is a result, not an error. */
export const exitSchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("exited"), code: z.int().min(0).max(255) }),
  z.strictObject({ kind: z.literal("signalled"), signal: z.string() }),
  z.strictObject({ kind: z.literal("timeout") }),
]);
export type Exit = z.infer<typeof exitSchema>;

export const SIGNALS = ["HUP", "INT", "QUIT", "KILL", "USR1", "USR2", "TERM", "CONT", "STOP"] as const;
export const signalSchema = z.enum(SIGNALS);
export type Signal = z.infer<typeof signalSchema>;

export const terminalSizeSchema = z.strictObject({
  cols: z.int().min(1).max(4096),
  rows: z.int().min(1).max(4096),
});
export type TerminalSize = z.infer<typeof terminalSizeSchema>;

const noNul = z.string().regex(/^[^\0]*$/, "no NUL");

/** Commands are argument lists, never shell strings: quoting is nobody's job. */
export const execRequestSchema = z.strictObject({
  argv: z.array(noNul).min(1, "argv names the program first"),
  env: envSchema.default({}),
  /** Relative to the user's home; left out, the home itself. */
  cwd: noNul.min(1).optional(),
  user: z.string().optional(),
  /** With `false` the process reads end-of-file at once. */
  stdin: z.boolean().default(false),
  timeoutMs: z.int().positive().optional(),
  pty: terminalSizeSchema.optional(),
});
export type ExecRequest = z.output<typeof execRequestSchema>;
export type ExecInput = z.input<typeof execRequestSchema>;

/** `offset` counts the channel's bytes from the start of the process, so that readers can resume. */
export type ProcessEvent =
  | { readonly type: "stdout" | "stderr"; readonly offset: number; readonly data: Uint8Array }
  | { readonly type: "exit"; readonly exit: Exit };

/** A running process. It goes on when its reader leaves. */
export interface Process {
  readonly id: string;
  /** The pid inside the sandbox, where the backend tells it. */
  readonly pid?: number;
  /** One reader; reading slowly slows the process down, as a pipe would. Ends after `exit`. */
  readonly events: AsyncIterable<ProcessEvent>;
  /** Resolves when the sandbox has room for more. */
  writeStdin(data: Uint8Array): Promise<void>;
  closeStdin(): Promise<void>;
  signal(signal: Signal): Promise<void>;
  /** Lets go at once, also of one that is silent: `events` ends without an exit, the process goes on. */
  detach(): void;
}

/** The facet `pty`: an `exec` may ask for a terminal. */
export interface Terminals {
  resize(processId: string, size: TerminalSize): Promise<void>;
}

/** A process as a listing shows it; those that ended a while ago are no longer there. */
export const processInfoSchema = z.strictObject({
  id: z.string(),
  pid: z.int().optional(),
  argv: z.array(z.string()),
  startedAtMs: z.int().nonnegative(),
  pty: z.boolean(),
  /** Who started it, where that is known. */
  attachmentId: z.string().optional(),
  /** How much it has said so far. `attachProcess` gives what of it is still kept. */
  stdoutBytes: z.int().nonnegative(),
  stderrBytes: z.int().nonnegative(),
  /** Absent while it runs. */
  exit: exitSchema.optional(),
});
export type ProcessInfo = z.infer<typeof processInfoSchema>;

export interface ExecResult {
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  readonly exit: Exit;
  /** Output was longer than the limit and its tail was dropped. */
  readonly truncated: boolean;
}

/** Reads a process to its end, keeping at most `limitBytes` of each channel. */
export async function collect(process: Process, limitBytes = 16 << 20): Promise<ExecResult> {
  const kept = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[] };
  const room = { stdout: limitBytes, stderr: limitBytes };
  let truncated = false;
  for await (const event of process.events) {
    if (event.type === "exit") {
      return {
        stdout: concatenate(kept.stdout),
        stderr: concatenate(kept.stderr),
        exit: event.exit,
        truncated,
      };
    }
    const part = event.data.subarray(0, room[event.type]);
    truncated ||= part.length < event.data.length;
    room[event.type] -= part.length;
    if (part.length > 0) kept[event.type].push(part);
  }
  throw new Error("a process's events ended without an exit");
}

export function concatenate(parts: readonly Uint8Array[]): Uint8Array {
  if (parts.length === 1 && parts[0]) return parts[0];
  const whole = new Uint8Array(parts.reduce((total, part) => total + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
