import type { ReachedPlace, Receipt } from "@sandboxer/contract";
import { dollars } from "@sandboxer/contract/dollars";
import type { Command } from "commander";
import { printable } from "../printable.ts";
import { span } from "../table.ts";

export function register(program: Command): void {
  program
    .command("receipt")
    .description("say where a sandbox ran and why, what it reached, how long, what it cost, and for whom")
    .argument("<sandbox>", "its id or name; the newest that is over, where none of that name lives")
    .option("--json", "print it as JSON")
    .addHelpText("after", "\nExample:\n  $ sandboxer receipt build")
    .action(receipt);
}

async function receipt(idOrName: string, { json }: { json?: true }): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const { alsoEnded } = await import("../ended.ts");
  const found = await withClient(async (client) => (await alsoEnded(client, idOrName)).receipt());
  process.stdout.write(`${json ? JSON.stringify(found) : lines(found).map(printable).join("\n")}\n`);
  process.exit(0);
}

function lines({
  sandboxId,
  state,
  reason,
  who,
  profile,
  where,
  why,
  reached,
  when,
  cost,
}: Receipt): string[] {
  const { kind, project, task } = who.consumer;
  const consumer = [kind, project, task].filter(Boolean).join(" / ");
  return [
    `sandbox  ${sandboxId}, ${state}${reason ? `: ${reason}` : ""}`,
    `who      ${who.principalId} for ${consumer}`,
    ...(profile ? [`what     ${profile.name}@${profile.version} sha256:${profile.digest.slice(0, 12)}`] : []),
    `where    ${where ? `${where.extensionId} on ${where.hostId}` : "nowhere"}`,
    `why      ${why.policy ?? ""}: ${why.candidates.join(", ") || "no candidate"}`,
    ...why.rejected.map((one) => `         not ${one.extensionId}: ${one.reason}`),
    ...why.bestEffort.map((text) => `         best effort: ${text}`),
    ...reachedIn(reached).map((text, at) => `${at === 0 ? "reached" : "       "}  ${text}`),
    `when     ${new Date(when.requestedAtMs).toISOString()}, ran ${span(when.ranMs)}`,
    `cost     ${dollars(cost.chargedMicroUsd)} of ${cost.accountId}, ${dollars(cost.heldMicroUsd)} still held`,
  ];
}

function reachedIn({ places, others }: Receipt["reached"]): string[] {
  if (places.length === 0) return ["nothing"];
  return [...places.map(inWords), ...(others > 0 ? [`and ${others} attempts at further places`] : [])];
}

function inWords(place: ReachedPlace): string {
  const { host, address = "unknown", port, method, verdict, times, upBytes, downBytes } = place;
  const carried = upBytes + downBytes > 0 ? `, ${upBytes} bytes out, ${downBytes} in` : "";
  return `${method ? `${method} ` : ""}${host ?? address}:${port} ${verdict} ${times} x${carried}`;
}
