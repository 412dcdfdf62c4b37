import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type ByteSource, SandboxerError } from "@sandboxer/contract";
import { fromFailure } from "../_kit/boxd/failure.ts";

const MAXIMUM_ANSWER_CHARACTERS = 64 << 20;

/** boxd for one task: something on its standard input, an answer in JSON. */
export async function askBoxd(
  boxdPath: string,
  args: readonly string[],
  input: ByteSource = [],
): Promise<Record<string, unknown>> {
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
