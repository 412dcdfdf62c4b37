import { setTimeout as sleep } from "node:timers/promises";
import { type Approval, SandboxerError } from "@sandboxer/contract";
import type { Approvals } from "@sandboxer/sdk";
import { type Keyboard, openKeyboard } from "./keyboard.ts";
import { printable } from "./printable.ts";

const LOOK_EVERY_MS = 500;

/** What is asked, on one line. Whoever asks chose some of the words. */
export function inWords({ action }: Pick<Approval, "action">): string {
  return printable(wordsOf(action));
}

function wordsOf(action: Approval["action"]): string {
  switch (action.kind) {
    case "connection":
      return `connect to ${action.protocol}://${action.host}:${action.port}`;
    case "request": {
      const { method, protocol, host, port, path, query } = action;
      return `${method} ${protocol}://${host}:${port}${path}${query ? `?${query}` : ""}`;
    }
    case "signature": {
      const { key, fingerprint, host, hostKey = "not shown", user } = action;
      return `sign a login as ${user} on ${host} (host key ${hostKey}) with ${key} (${fingerprint})`;
    }
    case "operation":
      return `${action.operation} ${JSON.stringify(action.said)}`;
    case "elevation": {
      const hosts = action.rules.map(({ host }) => host).join(", ");
      return `reach ${hosts} for ${Math.round(action.durationMs / 1_000)}s: ${action.reason}`;
    }
  }
}

/** Shows each question once. On a terminal a key answers it: yes, yes for this sandbox, no, or later. */
export async function watchApprovals(approvals: Approvals, asJson: boolean): Promise<never> {
  const seen = new Set<string>();
  const keyboard = !asJson && process.stdin.isTTY ? openKeyboard() : undefined;
  for (;;) {
    const waiting = await approvals.list({ state: "pending" });
    for (const one of waiting.toReversed()) {
      if (seen.has(one.id)) continue;
      seen.add(one.id);
      process.stdout.write(
        `${asJson ? JSON.stringify(one) : `${one.id} ${one.sandboxId ?? ""} ${inWords(one)}${whose(one)}`}\n`,
      );
      if (keyboard && one.isYours) await answer(approvals, keyboard, one);
    }
    await sleep(LOOK_EVERY_MS);
  }
}

/** What this key has asked for itself, or was derived from whoever did, is shown and not waited for. */
function whose({ isYours }: Approval): string {
  return isYours ? "" : " (for somebody else to decide)";
}

async function answer(approvals: Approvals, keyboard: Keyboard, { id, action }: Approval): Promise<void> {
  const isCall = action.kind === "connection" || action.kind === "request";
  const key = await keyboard.press(
    `  [y]es once${isCall ? ", yes for this [s]andbox" : ""}, [n]o, any other key: later `,
  );
  process.stdout.write(`${printable(key)}\n`);
  try {
    if (key === "y") await approvals.approve(id);
    else if (key === "s" && isCall) await approvals.approve(id, "sandbox");
    else if (key === "n") await approvals.deny(id);
  } catch (error) {
    process.stdout.write(`  ${SandboxerError.from(error).message}\n`);
  }
}
