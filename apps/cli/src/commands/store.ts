import type { Stored, StoreReport } from "@sandboxer/contract";
import { type Command, InvalidArgumentError } from "commander";
import { table } from "../table.ts";

export function register(program: Command): void {
  const store = program
    .command("store")
    .description("what takes room here, and who needs it; for the operator");
  store
    .command("ls", { isDefault: true })
    .description(
      "list sandboxes, the layers they share, snapshots, images, setups and volumes, with what each takes",
    )
    .option("--json", "print everything")
    .addHelpText("after", "\nExample:\n  $ sandboxer store ls")
    .action(ls);
  store
    .command("prune")
    .description("remove snapshots without a name whose sandbox is over and that nothing needs")
    .option("--dry-run", "say what would go, and remove nothing")
    .option("--json", "print everything")
    .addHelpText("after", "\nExample:\n  $ sandboxer store prune --dry-run")
    .action(prune);
  store
    .command("make")
    .description(
      "have this home's sandboxes share blocks: a file with btrfs in it, as root, while none is there",
    )
    .option("--size <size>", "how large it may grow, as in 20G (default: most of what is free)", bytesOf)
    .option("--json", "give errors as JSON")
    .addHelpText("after", "\nExample:\n  # sandboxer store make --size 50G")
    .action(make);
  store
    .command("mount")
    .description("mount it, as root; a gateway that is root does so by itself when it starts")
    .option("--json", "give errors as JSON")
    .addHelpText("after", "\nExample:\n  # sandboxer store mount")
    .action(mount);
  store
    .command("unmount")
    .description("unmount it, as root, while no sandbox and no gateway is there")
    .option("--json", "give errors as JSON")
    .addHelpText("after", "\nExample:\n  # sandboxer store unmount")
    .action(unmount);
}

function bytesOf(text: string): number {
  const [, number, unit = ""] = /^(\d+)([MGT])(?:i?B)?$/.exec(text) ?? [];
  const bytes = Number(number) * 1024 ** (["M", "G", "T"].indexOf(unit) + 2);
  if (Number.isSafeInteger(bytes)) return bytes;
  throw new InvalidArgumentError("Give a size, as in 500M, 20G or 1T.");
}

async function make({ size }: { size?: number }): Promise<void> {
  const { makeBlockStore } = await import("@sandboxer/gateway");
  const { homeDirectory } = await import("@sandboxer/gateway/home");
  await makeBlockStore(homeDirectory(), size === undefined ? {} : { bytes: size });
  await tell();
}

async function mount(): Promise<void> {
  const { ensureBlockStore, findBlockStore } = await import("@sandboxer/gateway");
  const { homeDirectory } = await import("@sandboxer/gateway/home");
  const { SandboxerError } = await import("@sandboxer/contract");
  if (!findBlockStore(homeDirectory())) {
    throw new SandboxerError("not_found", "this home has no store of its own", {
      hint: "Make one with `sandboxer store make`.",
    });
  }
  await ensureBlockStore(homeDirectory());
  await tell();
}

async function unmount(): Promise<void> {
  const { unmountBlockStore } = await import("@sandboxer/gateway");
  const { homeDirectory } = await import("@sandboxer/gateway/home");
  await unmountBlockStore(homeDirectory());
  await tell();
}

async function tell(): Promise<void> {
  process.stdout.write(`${await aboutBlocks()}\n`);
  process.exit(0);
}

/** What this machine's home lies on; of a gateway elsewhere nothing is known. */
async function aboutBlocks(): Promise<string> {
  const { findBlockStore } = await import("@sandboxer/gateway");
  const { homeDirectory } = await import("@sandboxer/gateway/home");
  const store = findBlockStore(homeDirectory());
  if (!store) return "copies of running sandboxes are made by copying; `store make` lets them share blocks";
  const state = store.isMounted ? "mounted" : "not mounted";
  return `copies share blocks: a store of up to ${(store.bytes / 2 ** 30).toFixed(1)} GiB, ${state}`;
}

async function ls({ json }: { json?: true }): Promise<void> {
  const { withClient } = await import("../connect.ts");
  await print(await withClient((client) => client.store.list()), json);
}

async function prune({ dryRun = false, json }: { dryRun?: boolean; json?: true }): Promise<void> {
  const { withClient } = await import("../connect.ts");
  await print(await withClient((client) => client.store.prune({ dryRun })), json);
}

async function print(report: StoreReport, json: true | undefined): Promise<void> {
  const size = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
  const row = ({ kind, id, bytes, usedBy, prunable, note = "" }: Stored) => [
    kind,
    id,
    size(bytes),
    usedBy.join(" ") || (prunable ? "nobody" : ""),
    note,
  ];
  const rows = [...report.stored].sort((a, b) => b.bytes - a.bytes).map(row);
  const text = `${table(["KIND", "ID", "SIZE", "USED BY", ""], rows)}\n${size(report.bytes)} in all`;
  if (!json) process.stderr.write(`${await aboutBlocks()}\n`);
  process.stdout.write(`${json ? JSON.stringify(report) : text}\n`);
  process.exit(0);
}
