import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { type ByteSource, SandboxerError } from "@sandboxer/contract";
import { fromFailure } from "./failure.ts";

const MAXIMUM_ANSWER_CHARACTERS = 64 << 20;
const MAXIMUM_WORDS = 4_096;

/** boxd for one task: something on its standard input, an answer in JSON. */
export async function askBoxd(
  boxdPath: string,
  args: readonly string[],
  input: ByteSource = [],
): Promise<Record<string, unknown>> {
  const { spawn } = await import("node:child_process");
  const child = spawn(boxdPath, args, { stdio: ["pipe", "pipe", "ignore"], env: {} });
  const answering = answerOf(child, args[0]);
  answering.catch(() => {});
  try {
    await feed(child, input);
  } catch (error) {
    // Without its end what it reads is nothing, and nothing comes of it.
    child.kill("SIGKILL");
    await answering.catch(() => {});
    throw error;
  }
  const { failure, ...rest } = await answering;
  if (failure) throw fromFailure(failure as Record<string, unknown>);
  return rest;
}

async function feed(child: ChildProcess, input: ByteSource): Promise<void> {
  const { stdin } = child;
  if (!stdin) return;
  let isBroken = false;
  let wake = () => {};
  // It may answer, and leave, before it has read everything.
  const leave = () => {
    isBroken = true;
    wake();
  };
  stdin.on("error", leave).on("close", leave);
  stdin.on("drain", () => wake());
  for await (const part of input) {
    if (isBroken) break;
    if (stdin.write(part)) continue;
    await new Promise<void>((resolve) => {
      wake = resolve;
      if (isBroken) resolve();
    });
  }
  stdin.end();
}

async function answerOf(child: ChildProcess, command = ""): Promise<Record<string, unknown>> {
  let text = "";
  child.stdout?.setEncoding("utf8").on("data", (part: string) => {
    text += part;
    if (text.length > MAXIMUM_ANSWER_CHARACTERS) child.kill("SIGKILL");
  });
  await once(child, "close");
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch (cause) {
    throw new SandboxerError("extension_failed", `boxd ${command} gave no answer`, { cause });
  }
}

/** boxd for one task whose answer is bytes. It has failed unless it says at its end that it has not. */
export async function* readBoxd(
  boxdPath: string,
  args: readonly string[],
  header: unknown,
): AsyncGenerator<Uint8Array> {
  const { spawn } = await import("node:child_process");
  const child = spawn(boxdPath, args, { stdio: ["pipe", "pipe", "pipe"], env: {} });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (part: string) => {
    said = (said + part).slice(-MAXIMUM_WORDS);
  });
  const closed = once(child, "close") as Promise<[number | null]>;
  child.stdin.on("error", () => {});
  child.stdin.end(JSON.stringify(header));
  try {
    yield* child.stdout as AsyncIterable<Uint8Array>;
    const [code] = await closed;
    if (code !== 0) throw failureIn(said, args[0]);
  } finally {
    child.kill("SIGKILL");
  }
}

function failureIn(said: string, command = ""): SandboxerError {
  try {
    return fromFailure(JSON.parse(said.slice(said.indexOf("{"))).failure);
  } catch (cause) {
    return new SandboxerError("extension_failed", `boxd ${command} gave no answer`, { cause });
  }
}
