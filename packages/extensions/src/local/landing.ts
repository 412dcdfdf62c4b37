import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import {
  type Applied,
  type ApplyOptions,
  appliedSchema,
  conflictsSchema,
  SandboxerError,
} from "@sandboxer/contract";
import { fromFailure } from "../_kit/boxd/failure.ts";

const MAXIMUM_ANSWER_CHARACTERS = 64 << 20;
const NAMED_AT_MOST = 5;

export interface Landing {
  /** Has boxd write a layer into the folder that the sandbox's workspace is of. */
  land(ref: string, layer: AsyncIterable<Uint8Array>, options: ApplyOptions): Promise<Applied>;
  /** Makes good what a landing left that died. */
  recover(): Promise<void>;
}

/** The bytes of a layer pass through here unread: everything in it is hostile, and boxd takes it so. */
export function createLanding(dir: string, boxdPath: string): Landing {
  const start = (args: readonly string[]): ChildProcess =>
    spawn(boxdPath, ["apply", ...args], { stdio: ["pipe", "pipe", "ignore"], env: {} });

  const recover = async (): Promise<void> => {
    const left = await readdir(join(dir, "applies")).catch(() => []);
    if (left.length > 0) await answerOf(start(["--recover", dir]));
  };

  return {
    recover,
    async land(ref, layer, { paths = [], force = false }) {
      await recover();
      const child = start(["--box", join(dir, "boxes", ref)]);
      const answering = answerOf(child);
      answering.catch(() => {});
      try {
        await feed(child, layer, JSON.stringify({ paths, force }));
      } catch (error) {
        // Without its end the layer is none, and nothing is written.
        child.kill("SIGKILL");
        throw error;
      }
      return judge(await answering);
    },
  };
}

async function feed(child: ChildProcess, layer: AsyncIterable<Uint8Array>, header: string): Promise<void> {
  const { stdin } = child;
  if (!stdin) return;
  let isBroken = false;
  // It may answer, and leave, before it has read everything.
  stdin.on("error", () => {
    isBroken = true;
  });
  const text = Buffer.from(header);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  stdin.write(Buffer.concat([length, text]));
  for await (const part of layer) {
    if (isBroken) break;
    if (!stdin.write(part)) await Promise.race([once(stdin, "drain"), once(stdin, "close")]);
  }
  stdin.end();
}

async function answerOf(child: ChildProcess): Promise<Record<string, unknown>> {
  child.stdin?.on("error", () => {});
  let text = "";
  child.stdout?.setEncoding("utf8").on("data", (part: string) => {
    text += part;
    if (text.length > MAXIMUM_ANSWER_CHARACTERS) child.kill("SIGKILL");
  });
  await once(child, "close");
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch (cause) {
    throw new SandboxerError("extension_failed", "boxd apply gave no answer", { cause });
  }
}

function judge({ failure, conflicts, ...rest }: Record<string, unknown>): Applied {
  if (failure) throw fromFailure(failure as Record<string, unknown>);
  const found = conflictsSchema.parse(conflicts);
  if (found.length === 0) return appliedSchema.parse(rest);
  const named = found.slice(0, NAMED_AT_MOST).map(({ path, why }) => `${path}: ${why}`);
  const more = found.length > NAMED_AT_MOST ? `, and ${found.length - NAMED_AT_MOST} more` : "";
  throw new SandboxerError("conflict", `nothing was applied. ${named.join("; ")}${more}`, {
    details: { conflicts: found },
    hint: "Name the paths to apply, or overwrite with `force`; `diff` shows both sides.",
  });
}
