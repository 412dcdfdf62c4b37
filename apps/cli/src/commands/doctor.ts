import { styleText } from "node:util";
import type { Finding } from "@sandboxer/contract";
import type { Command } from "commander";
import { printable } from "../printable.ts";

export function register(program: Command): void {
  program
    .command("doctor")
    .description("say what this machine can do, and what would mend the rest")
    .option("--json", "print the findings as JSON")
    .addHelpText("after", "\nExample:\n  $ sandboxer doctor")
    .action(doctor);
}

async function doctor({ json }: { json?: true }): Promise<void> {
  const { ERRORS } = await import("@sandboxer/contract");
  const { withClient } = await import("../connect.ts");
  const extensions = await withClient((client) => client.doctor());
  const lines: string[] = [];
  for (const [id, probe] of Object.entries(extensions)) {
    lines.push(`${id}: ${probe.status === "offer" ? "ready" : `unavailable, ${printable(probe.reason)}`}`);
    if (probe.status === "unavailable") lines.push(`  fix: ${printable(probe.fix)}`);
    lines.push(...probe.findings.flatMap(describe));
  }
  process.stdout.write(`${json ? JSON.stringify(extensions) : lines.join("\n")}\n`);
  const ready = Object.values(extensions).some(({ status }) => status === "offer");
  process.exit(ready ? 0 : ERRORS.extension_unavailable.exitCode);
}

function describe({ ok, message, fix }: Finding): string[] {
  const mark = ok
    ? styleText("green", "ok", { stream: process.stdout })
    : styleText("yellow", "no", { stream: process.stdout });
  const line = `  ${mark}  ${printable(message)}`;
  return ok || !fix ? [line] : [line, `      fix: ${printable(fix)}`];
}
