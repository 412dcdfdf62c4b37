import { randomUUID } from "node:crypto";
import {
  type Exit,
  type Principal,
  type Process,
  type ProcessInfo,
  SandboxerError,
} from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";
import { z } from "zod";
import type { Language, Speech } from "./languages.ts";
import type { Line } from "./translate.ts";

/** What a runner is started for. It stands in its own arguments, where the next gateway finds it. */
const purposeSchema = z.object({
  context: z.string().max(64),
  language: z.string(),
  cwd: z.string(),
  mark: z.string().optional(),
});
export type Purpose = z.output<typeof purposeSchema>;

export interface Runner {
  readonly process: Process;
  readonly speech: Speech;
  readonly events: ReturnType<Process["events"][typeof Symbol.asyncIterator]>;
}

export async function startRunner(
  core: Core,
  principal: Principal,
  sandboxId: string,
  language: Language,
  purpose: Omit<Purpose, "mark">,
): Promise<Runner> {
  const speech = language.start();
  if (speech.argv[0] !== language.program) await needProgram(core, principal, sandboxId, language);
  const said = JSON.stringify({ ...purpose, ...(speech.mark !== undefined && { mark: speech.mark }) });
  const process = await core
    .exec(principal, sandboxId, { argv: [...speech.argv, said], cwd: purpose.cwd, stdin: true })
    .catch((error) => {
      throw SandboxerError.from(error).code === "command_not_found" ? nobodyRuns(language) : error;
    });
  return { process, speech, events: process.events[Symbol.asyncIterator]() };
}

function nobodyRuns({ name, program }: Language): SandboxerError {
  return new SandboxerError("invalid_request", `this sandbox has nothing that runs ${name}: no ${program}`, {
    hint: `Take a template that has ${program}.`,
  });
}

/** Behind another program it would be missed too late, and without a word for it. */
async function needProgram(
  core: Core,
  principal: Principal,
  sandboxId: string,
  language: Language,
): Promise<void> {
  const argv = ["/bin/sh", "-c", 'command -v "$1" >/dev/null', "sh", language.program];
  const looking = await core.exec(principal, sandboxId, { argv, stdin: false });
  for await (const event of looking.events) {
    if (event.type === "exit" && event.exit.kind === "exited" && event.exit.code === 0) return;
  }
  throw nobodyRuns(language);
}

export function purposeOf({ argv, exit }: ProcessInfo): Purpose | undefined {
  if (exit || !argv.at(-1)?.startsWith('{"context":')) return undefined;
  try {
    return purposeSchema.parse(JSON.parse(argv.at(-1) ?? ""));
  } catch {
    return undefined;
  }
}

/** One that another gateway has started, whatever it does. */
export async function attachRunner(
  core: Core,
  principal: Principal,
  sandboxId: string,
  language: Language,
  contextId: string,
): Promise<Runner | undefined> {
  const running = (await core.ps(principal, sandboxId)).findLast(
    (one) => purposeOf(one)?.context === contextId,
  );
  if (!running) return undefined;
  const from = { stdout: running.stdoutBytes, stderr: running.stderrBytes };
  const process = await core.attachProcess(principal, sandboxId, running.id, from);
  const speech = language.start(purposeOf(running)?.mark);
  return { process, speech, events: process.events[Symbol.asyncIterator]() };
}

/** The same one, once it has nothing more to say of what another gateway asked; none where it ends. */
export async function whenFree(runner: Runner | undefined, language: Language): Promise<Runner | undefined> {
  if (!runner) return undefined;
  const word = `here-${randomUUID()}`;
  let isHeard = false;
  for await (const line of linesOf(runner, language.saying(word))) {
    if (line.type === "stdout" && String(line.text).includes(word)) isHeard = true;
    if (line.type === "end_of_execution" && isHeard) return runner;
  }
  return undefined;
}

/** What it says from now on, until it ends, and how that was. */
export async function* linesOf(
  { process, speech, events }: Runner,
  code: string,
  env: Readonly<Record<string, string>> = {},
): AsyncGenerator<Line> {
  await process.writeStdin(Buffer.from(speech.say(code, env)));
  for (;;) {
    const { done, value } = await events.next();
    if (done) return;
    if (value.type === "exit") {
      yield { type: "exit", how: howOf(value.exit) };
      return;
    }
    yield* speech.hear(value.type, value.data);
  }
}

function howOf(exit: Exit): string {
  if (exit.kind === "exited") return `with status ${exit.code}`;
  return exit.kind === "signalled" ? `by ${exit.signal}` : "at its time limit";
}
