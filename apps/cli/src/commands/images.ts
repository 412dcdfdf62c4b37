import type { KeptImage } from "@sandboxer/contract";
import type { Command } from "commander";
import { adviseIfNone, span, table } from "../table.ts";

const JSON_OPTION = ["--json", "print everything about it; give errors as JSON"] as const;

export function register(program: Command): void {
  const images = program.command("images").description("list, pull, import, remove and prune images");
  images
    .command("ls", { isDefault: true })
    .description("list them, newest first")
    .option(...JSON_OPTION)
    .action(ls);
  images
    .command("pull")
    .description("get one from a registry that the operator listed")
    .argument("<ref>", "as in debian:12 or registry.test/team/tools@sha256:…")
    .option(...JSON_OPTION)
    .action(pull);
  images
    .command("import")
    .description("take one in from a file: an OCI or docker archive, or a root's files")
    .argument("<file>", "a tar archive, compressed or not")
    .option("--name <ref>", "what to call it here")
    .option("--rootfs", "the archive holds the files of a root")
    .option(...JSON_OPTION)
    .action(importFrom);
  images
    .command("inspect")
    .description("show everything about one, as JSON")
    .argument("<ref>", "a name or a digest")
    .option("--json", "as it is anyway; give errors as JSON")
    .action(inspect);
  images
    .command("rm")
    .description("remove a name, or all of one by its digest")
    .argument("<ref>", "a name or a digest")
    .option(...JSON_OPTION)
    .action(remove);
  images
    .command("prune")
    .description("remove what has no name and no sandbox")
    .option(...JSON_OPTION)
    .action(prune);
}

interface Asked {
  readonly json?: true;
}

const mib = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
const short = (digest: string) => digest.slice(0, "sha256:".length + 12);

async function withImages<T>(work: (images: Shelf) => Promise<T>): Promise<T> {
  const { withClient } = await import("../connect.ts");
  return withClient((client) => work(client.images));
}
type Shelf = import("@sandboxer/sdk").Client["images"];

function end(value: unknown, text: string, { json }: Asked): never {
  process.stdout.write(`${json ? JSON.stringify(value) : text}\n`);
  process.exit(0);
}

async function ls(asked: Asked): Promise<void> {
  const all = await withImages((images) => images.list());
  const row = ({ names, digest, layers, bytes, users, keptSinceMs }: KeptImage) => [
    names.join(" ") || "(none)",
    short(digest),
    String(layers),
    mib(bytes),
    String(users),
    span(Date.now() - keptSinceMs),
  ];
  if (!asked.json) adviseIfNone(all, "`sandboxer images pull` or `images import` brings one.");
  end(all, table(["NAME", "DIGEST", "LAYERS", "SIZE", "SANDBOXES", "AGE"], all.map(row)), asked);
}

async function pull(ref: string, asked: Asked): Promise<void> {
  const { stderr } = process;
  // On a terminal one line that changes; elsewhere none, unless something goes wrong.
  const hear = (message: string) => void (stderr.isTTY && stderr.write(`\r\x1b[K${message}`));
  try {
    const image = await withImages((images) => images.pull(ref, { hear }));
    if (stderr.isTTY) stderr.write("\r\x1b[K");
    end(image, image.digest, asked);
  } catch (error) {
    if (stderr.isTTY) stderr.write("\r\x1b[K");
    throw error;
  }
}

async function importFrom(
  path: string,
  { name, rootfs, ...asked }: Asked & { name?: string; rootfs?: true },
): Promise<void> {
  const { counted } = await import("../progress.ts");
  const options = { ...(name && { name }), kind: rootfs ? ("rootfs" as const) : ("image" as const) };
  const { readHostFile } = await import("../host-file.ts");
  const file = await readHostFile(path);
  const image = await withImages((images) => images.import(counted(file), options));
  end(image, image.digest, asked);
}

async function inspect(ref: string): Promise<void> {
  const all = await withImages((images) => images.list());
  const isMeant = ({ digest, names }: KeptImage) =>
    digest === ref || names.some((name) => name === ref || name === `${ref}:latest`);
  const found = all.find(isMeant);
  if (!found) {
    const { SandboxerError } = await import("@sandboxer/contract");
    throw new SandboxerError("not_found", `there is no image ${ref}`, { hint: "See `sandboxer images ls`." });
  }
  process.stdout.write(`${JSON.stringify(found, undefined, 2)}\n`);
  process.exit(0);
}

async function remove(ref: string, asked: Asked): Promise<void> {
  const image = await withImages((images) => images.remove(ref));
  end(image, ref, asked);
}

async function prune(asked: Asked): Promise<void> {
  const pruned = await withImages((images) => images.prune());
  const { images, layers, bytes } = pruned;
  end(pruned, `${images.length} images and ${layers} layers, ${mib(bytes)}`, asked);
}
