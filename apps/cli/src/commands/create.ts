import type { Visibility } from "@sandboxer/contract";
import type { Command } from "commander";
import { durationMs, label, microUsd, variable } from "../arguments.ts";

interface Options {
  readonly name?: string;
  readonly ttl?: number;
  readonly env?: Record<string, string>;
  readonly label?: Record<string, string>;
  readonly image?: string;
  readonly rootfs?: string;
  readonly visibility?: Visibility;
  readonly budget?: number;
  readonly idempotencyKey?: string;
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
    .option("--visibility <who>", "who else sees it: private, team or org (default: private)")
    .option("--budget <usd>", "the most it may cost in all, as in 0.50", microUsd)
    .option("--idempotency-key <key>", "asked again with the same, there is still one sandbox")
    .option("--json", "print everything about it")
    .addHelpText("after", "\nExample:\n  $ sandboxer create --name build --ttl 30m --env CI=1")
    .action(create);
}

async function create(options: Options): Promise<void> {
  const {
    name,
    ttl,
    env = {},
    label: labels = {},
    image,
    rootfs,
    visibility,
    budget,
    idempotencyKey,
    json,
  } = options;
  const { withClient } = await import("../connect.ts");
  const { imageOf } = await import("../image.ts");
  const sandbox = await withClient((client) =>
    client.sandboxes.create(
      {
        ...(name !== undefined && { name }),
        ...(ttl && { ttlMs: ttl }),
        ...(visibility && { visibility }),
        ...(budget !== undefined && { budgetMicroUsd: budget }),
        image: imageOf({ image, rootfs }),
        env,
        labels,
      },
      idempotencyKey === undefined ? {} : { idempotencyKey },
    ),
  );
  process.stdout.write(`${json ? JSON.stringify(sandbox.info) : sandbox.id}\n`);
  process.exit(0);
}
