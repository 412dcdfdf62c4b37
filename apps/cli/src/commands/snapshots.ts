import { open, rename, rm } from "node:fs/promises";
import type { Snapshot } from "@sandboxer/contract";
import type { Command } from "commander";
import { label } from "../arguments.ts";
import { adviseIfNone, span, table } from "../table.ts";

export function register(program: Command): void {
  const snapshots = program.command("snapshots").description("list, delete, export and import snapshots");
  snapshots
    .command("ls", { isDefault: true })
    .description("list them, newest first")
    .option("-l, --label <key=value>", "only those with this label; may be given again", label)
    .option("--json", "print everything about them")
    .action(ls);
  snapshots
    .command("rm")
    .description("delete one; sandboxes made from it stay")
    .argument("<snapshot>", "its id or name")
    .option("--json", "print what it was; give errors as JSON")
    .action(remove);
  snapshots
    .command("export")
    .description("write one to a file, an OCI layout in a tar archive")
    .argument("<snapshot>", "its id or name")
    .argument("<file>", "where to")
    .option("-f, --force", "also over a file that is there")
    .option("--json", "print what was written; give errors as JSON")
    .action(exportTo);
  snapshots
    .command("import")
    .description("take one in that was exported here or elsewhere")
    .argument("<file>", "what export wrote")
    .option("--name <name>", "a name for it here")
    .option("--trust <fingerprint>", "the key of another installation that may vouch for it")
    .option("--idempotency-key <key>", "asked again with the same, there is still one")
    .option("--json", "print everything about it; give errors as JSON")
    .action(importFrom);
}

async function ls({ json, label: labels }: { json?: true; label?: Record<string, string> }): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const { describeImage } = await import("../image.ts");
  const all = await withClient((client) => client.snapshots.list(labels && { labels }));
  const row = ({ id, name, image, sandboxId, parentId, bytes, createdAtMs, labels }: Snapshot) => [
    id,
    name ?? "",
    describeImage(image),
    sandboxId ?? "imported",
    parentId ?? "",
    `${(bytes / 2 ** 20).toFixed(1)} MiB`,
    span(Date.now() - createdAtMs),
    Object.entries(labels)
      .map(([key, value]) => `${key}=${value}`)
      .join(" "),
  ];
  const head = ["ID", "NAME", "IMAGE", "FROM", "PARENT", "SIZE", "AGE", "LABELS"];
  process.stdout.write(`${json ? JSON.stringify(all) : table(head, all.map(row))}\n`);
  if (!json) adviseIfNone(all, "`sandboxer snapshot` takes one of a sandbox.");
  process.exit(0);
}

async function remove(idOrName: string, { json }: { json?: true }): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const removed = await withClient((client) => client.snapshots.delete(idOrName));
  process.stdout.write(`${json ? JSON.stringify(removed) : idOrName}\n`);
  process.exit(0);
}

/** Beside its place first, so that an export that breaks off leaves no half of one. */
async function exportTo(
  idOrName: string,
  path: string,
  { json, force }: { json?: true; force?: true },
): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const { counted } = await import("../progress.ts");
  const { aboutPath, needFolderOf, needNothingAt } = await import("../host-file.ts");
  const { draftFor } = await import("../draft.ts");
  await needFolderOf(path);
  if (!force) await needNothingAt(path);
  const draft = await draftFor(path);
  await withClient(async (client) => {
    const data = await client.snapshots.export(idOrName);
    const file = await open(draft, "wx", 0o600);
    try {
      for await (const part of counted(data)) await file.writev([part]);
      await file.sync();
      if (!force) await needNothingAt(path);
      await rename(draft, path);
    } catch (error) {
      throw aboutPath(path, error as NodeJS.ErrnoException);
    } finally {
      await file.close();
      await rm(draft, { force: true });
    }
  });
  if (json) process.stdout.write(`${JSON.stringify({ snapshot: idOrName, file: path })}\n`);
  process.exit(0);
}

async function importFrom(
  path: string,
  {
    name,
    trust,
    idempotencyKey,
    json,
  }: { name?: string; trust?: string; idempotencyKey?: string; json?: true },
): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const { counted } = await import("../progress.ts");
  const options = { ...(name && { name }), ...(trust && { trust }) };
  const once = idempotencyKey === undefined ? {} : { idempotencyKey };
  const { readHostFile } = await import("../host-file.ts");
  const source = counted(await readHostFile(path));
  const snapshot = await withClient((client) => client.snapshots.import(source, options, once));
  process.stdout.write(`${json ? JSON.stringify(snapshot) : snapshot.id}\n`);
  process.exit(0);
}
