import { type ErrorCode, SandboxerError } from "../errors.ts";
import { collect, type ExecInput, type ExecResult } from "../process.ts";
import type { SubjectSandbox } from "./subject.ts";

export const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
export const bytes = (content: string): Uint8Array => new TextEncoder().encode(content);

export function equal(actual: unknown, expected: unknown, what: string): void {
  const [a, e] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (a !== e) throw new Error(`${what}: expected ${e}, got ${a}`);
}

export function ok(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Error(what);
}

export async function refuses(code: ErrorCode, attempt: () => Promise<unknown>): Promise<void> {
  try {
    await attempt();
  } catch (error) {
    if (SandboxerError.is(error) && error.code === code) return;
    throw new Error(`expected ${code}`, { cause: error });
  }
  throw new Error(`expected ${code}, but it succeeded`);
}

export async function run(
  sandbox: SubjectSandbox,
  argv: readonly string[],
  more: Partial<ExecInput> = {},
): Promise<ExecResult> {
  return collect(await sandbox.exec({ argv: [...argv], ...more }));
}

/** Runs a shell script and gives what it printed; anything but exit 0 is an error. */
export async function shell(sandbox: SubjectSandbox, script: string): Promise<string> {
  const result = await run(sandbox, ["sh", "-c", script]);
  if (result.exit.kind !== "exited" || result.exit.code !== 0) {
    throw new Error(`${script}: ${JSON.stringify(result.exit)} ${text(result.stderr)}`);
  }
  return text(result.stdout);
}

export async function readAll(source: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const part of source) parts.push(part);
  return new Uint8Array(await new Blob(parts as Uint8Array<ArrayBuffer>[]).arrayBuffer());
}

/** A plain loop: a call for each of millions of bytes takes seconds on an emulated machine. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index++) if (a[index] !== b[index]) return false;
  return true;
}

/** Bytes of which every stretch differs from the one before. */
export function patterned(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let index = 0; index < length; index++) bytes[index] = (index * 31 + (index >> 8)) & 255;
  return bytes;
}

export async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`never happened: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
