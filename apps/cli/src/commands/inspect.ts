import type { Sandbox } from "@sandboxer/contract";
import type { Command } from "commander";
import { describeImage } from "../image.ts";
import { printable } from "../printable.ts";
import { span } from "../table.ts";

export function register(program: Command): void {
  program
    .command("inspect")
    .description("say everything that is known of a sandbox")
    .argument("<sandbox>", "its id or name; the newest that is over, where none of that name lives")
    .option("--json", "print it as JSON")
    .addHelpText("after", "\nExample:\n  $ sandboxer inspect build")
    .action(inspect);
}

async function inspect(idOrName: string, { json }: { json?: true }): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const { alsoEnded } = await import("../ended.ts");
  const { info } = await withClient((client) => alsoEnded(client, idOrName));
  process.stdout.write(
    `${json ? JSON.stringify(info, undefined, 2) : lines(info).map(printable).join("\n")}\n`,
  );
  process.exit(0);
}

function lines(sandbox: Sandbox): string[] {
  const { id, name, state, reason, spec, location, profile, visibility, consumer, bestEffort } = sandbox;
  const limits = Object.entries(spec.resources).map(([what, amount]) => `${what} ${amount}`);
  const pairs = (record: Readonly<Record<string, string>>) =>
    Object.entries(record).map(([key, value]) => `${key}=${value}`);
  const rows: [string, string | undefined][] = [
    ["sandbox", name ? `${id} (${name})` : id],
    ["state", `${state}${reason ? `: ${reason}` : ""}`],
    ["time", time(sandbox)],
    ["image", describeImage(spec.image)],
    ["profile", profile && `${profile.name}@${profile.version}`],
    ["where", location && `${location.extensionId} on ${location.hostId}`],
    ["asked", `isolation at least ${spec.isolation}, egress ${spec.network.egress}, ${spec.persistence}`],
    ["limits", `${limits.join(", ") || "none"} (${spec.limits})`],
    ["labels", pairs(spec.labels).join(" ") || undefined],
    ["env", Object.keys(spec.env).join(" ") || undefined],
    ["for", [consumer.kind, consumer.project, consumer.task].filter(Boolean).join(" / ")],
    ["seen by", visibility],
    ...bestEffort.map((text): [string, string] => ["not held", text]),
    ...(spec.runbook?.trimEnd().split("\n") ?? []).map((text): [string, string] => ["runbook", text]),
  ];
  return rows.flatMap(([what, text]) => (text === undefined ? [] : [`${what.padEnd(9)}${text}`]));
}

function time({ createdAtMs, expiresAtMs, endedAtMs }: Sandbox): string {
  const now = Date.now();
  const made = `made ${span(now - createdAtMs)} ago`;
  if (endedAtMs !== undefined) return `${made}, over since ${span(now - endedAtMs)}`;
  return expiresAtMs === undefined ? made : `${made}, ends in ${span(expiresAtMs - now)}`;
}
