import type { Command } from "commander";
import { durationMs, label, mebibytes, processors, variable } from "../arguments.ts";

interface Options {
  readonly name?: string;
  readonly ttl?: number;
  readonly env?: Record<string, string>;
  readonly label?: Record<string, string>;
  readonly image?: string;
  readonly rootfs?: string;
  readonly cpus?: number;
  readonly memory?: number;
  readonly disk?: number;
  readonly requireLimits?: true;
  readonly json?: true;
}

export function register(program: Command): void {
  program
    .command("create")
    .description("create a sandbox and print its id")
    .option("--name <name>", "a name to use instead of the id")
    .option("--ttl <time>", "how long it lives (default: 1h)", durationMs)
    .option("-e, --env <NAME=value>", "a variable of every command in it", variable)
    .option("-l, --label <key=value>", "a label", label)
    .option("--image <ref>", "use this container image, as in debian:12 (needs docker)")
    .option("--rootfs <folder>", "use this folder as the root instead of this machine's programs")
    .option("--cpus <count>", "processors it may use (default: 2)", processors)
    .option("--memory <size>", "memory it may use, as in 512M (default: 2G)", mebibytes)
    .option("--disk <size>", "what it may write (default: 10G)", mebibytes)
    .option("--require-limits", "refuse where one of its limits cannot be held")
    .option("--json", "print everything about it")
    .addHelpText("after", "\nExample:\n  $ sandboxer create --name build --ttl 30m --env CI=1")
    .action(create);
}

async function create({
  name,
  ttl,
  env = {},
  label: labels = {},
  image,
  rootfs,
  cpus,
  memory,
  disk,
  requireLimits,
  json,
}: Options): Promise<void> {
  const { withSandboxes } = await import("../connect.ts");
  const { imageOf } = await import("../image.ts");
  const sandbox = await withSandboxes((sandboxes) =>
    sandboxes.create({
      ...(name !== undefined && { name }),
      ...(ttl && { ttlMs: ttl }),
      image: imageOf({ image, rootfs }),
      resources: {
        ...(cpus && { cpus }),
        ...(memory && { memoryMiB: memory }),
        ...(disk && { diskMiB: disk }),
      },
      limits: requireLimits ? "required" : "best-effort",
      env,
      labels,
    }),
  );
  process.stdout.write(`${json ? JSON.stringify(sandbox.info) : sandbox.id}\n`);
  process.exit(0);
}
