import { setTimeout as sleep } from "node:timers/promises";
import { type ListedBox, SandboxerError } from "@sandboxer/contract";

/** The kernel closes a dying sandbox's connections first and takes its last process down after that. */
const LAST_BREATH_MS = 500;
const ASK_EVERY_MS = 20;

/** `performance` would be the same, and load what a short command has no use for. */
const nowMs = () => Number(process.hrtime.bigint()) / 1e6;

/** Is it the sandbox that is over, or only this connection to it? Not to know proves neither. */
export async function explain(ref: string, list: () => Promise<ListedBox[]>): Promise<SandboxerError> {
  const deadline = nowMs() + LAST_BREATH_MS;
  do {
    const boxes = await list().catch(() => undefined);
    if (!boxes) break;
    const box = boxes.find((one) => one.ref === ref);
    if (box?.stopped) return new SandboxerError("invalid_state", `the sandbox ${ref} was stopped`);
    if (!box) {
      return new SandboxerError("sandbox_gone", `the sandbox ${ref} is over`);
    }
    await sleep(ASK_EVERY_MS);
  } while (nowMs() < deadline);
  return new SandboxerError("extension_failed", "the connection to the sandbox was replaced or broke");
}

/** While hold has it, it is not gone: it may be about to be one that is stopped, and has files. */
export function whyNobodyAnswers(why: SandboxerError): SandboxerError {
  return why.code === "sandbox_gone" ? new SandboxerError("not_found", why.message, { cause: why }) : why;
}
