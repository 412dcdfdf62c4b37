import { styleText } from "node:util";
import type { Finding } from "@sandboxer/contract";
import type { Command } from "commander";
import { printable } from "../printable.ts";

export function register(program: Command): void {
  program
    .command("doctor")
    .description("say what this machine can do, and what would mend the rest")
    .argument("[extensions...]", "ways out that all have to be ready (default: any one)")
    .option("--strict", "also everything of theirs has to be in force")
    .option("--json", "print the findings as JSON")
    .addHelpText("after", "\nExample:\n  $ sandboxer doctor local --strict && sandboxer up")
    .action(doctor);
}

interface Options {
  readonly strict?: true;
  readonly json?: true;
}

async function doctor(asked: string[], { strict, json }: Options): Promise<void> {
  const { ERRORS, SandboxerError } = await import("@sandboxer/contract");
  const { withClient } = await import("../connect.ts");
  const extensions = await withClient((client) => client.doctor());
  const known = Object.keys(extensions);
  const unknown = asked.find((id) => !known.includes(id));
  if (unknown !== undefined) {
    throw new SandboxerError("invalid_request", `no extension ${unknown}: there are ${known.join(", ")}`);
  }
  const lines: string[] = [];
  for (const [id, probe] of Object.entries(extensions)) {
    lines.push(`${id}: ${probe.status === "offer" ? "ready" : `unavailable, ${printable(probe.reason)}`}`);
    if (probe.status === "unavailable") lines.push(`  fix: ${printable(probe.fix)}`);
    lines.push(...probe.findings.flatMap(describe));
  }
  process.stdout.write(`${json ? JSON.stringify(extensions) : lines.join("\n")}\n`);
  const holds = (id: string) => {
    const { status, findings = [] } = extensions[id] ?? {};
    return status === "offer" && (!strict || findings.every(({ ok }) => ok));
  };
  const isEnough = asked.length > 0 ? asked.every(holds) : known.some(holds);
  process.exit(isEnough ? 0 : ERRORS.extension_unavailable.exitCode);
}

function describe(finding: Finding): string[] {
  const mark = finding.ok
    ? styleText("green", "ok", { stream: process.stdout })
    : styleText("yellow", "no", { stream: process.stdout });
  const line = `  ${mark}  ${printable(finding.message)}`;
  return finding.ok ? [line] : [line, `      fix: ${printable(finding.fix)}`];
}
