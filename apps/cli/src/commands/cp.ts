import { createReadStream } from "node:fs";
import { open, rename, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Files } from "@sandboxer/contract";
import type { Sandbox } from "@sandboxer/sdk";
import type { Command } from "commander";
import { printable } from "../printable.ts";
import { fromStandardInput, STANDARD, toStandardOutput } from "../standard.ts";

interface Place {
  /** Absent for this machine. */
  readonly sandbox?: string;
  readonly path: string;
}

export function register(program: Command): void {
  program
    .command("cp")
    .description("copy a file or a folder into a sandbox, or out of it")
    .argument("<from>", "a path, sandbox:path, or - for what is piped here", placeOf)
    .argument("<to>", "a path, sandbox:path, or - for standard output", placeOf)
    .option("-u, --user <user>", "with whose rights inside, of its /etc/passwd (default: user)")
    .option("--json", "give errors as JSON")
    .addHelpText(
      "after",
      "\nExamples:\n  $ sandboxer cp ./src build:src\n  $ sandboxer cp notes.txt build:           into its home\n  $ sandboxer cp build:out/report.html .\n  $ sandboxer cp build:out - | tar x       a folder comes as a tar archive\n  $ date | sandboxer cp - build:built-at",
    )
    .action(cp);
}

/** `name:path` as scp has it; a path of this machine with a colon is written with a slash before it. */
function placeOf(text: string): Place {
  const [, sandbox, path] = /^([a-z0-9][a-z0-9-]*):(.*)$/s.exec(text) ?? [];
  if (sandbox === undefined) return { path: text };
  // With nothing behind the colon it is the home, as scp has it.
  return { sandbox, path: path || "." };
}

async function cp(from: Place, to: Place, { user }: { user?: string }): Promise<void> {
  const { SandboxerError } = await import("@sandboxer/contract");
  const { withClient } = await import("../connect.ts");
  const name = from.sandbox ?? to.sandbox;
  if (name === undefined || (from.sandbox && to.sandbox)) {
    throw new SandboxerError("invalid_request", "one side is of a sandbox, the other of this machine", {
      hint: "Name the sandbox's side as sandbox:path.",
    });
  }
  await withClient(async (client) => {
    const sandbox = await client.sandboxes.get(name);
    const options = user === undefined ? {} : { user };
    if (to.path === STANDARD && from.sandbox) await toStandardOutput(sandbox, from.path, options);
    else if (from.path === STANDARD && to.sandbox) await fromStandardInput(sandbox.files, to.path, options);
    else if (from.sandbox) await bringOut(sandbox, from.path, to.path, options);
    else await bringIn(sandbox, from.path, to.path, options);
  });
  process.exit(0);
}

type Options = { readonly user?: string };

async function bringIn({ files }: Sandbox, from: string, to: string, options: Options): Promise<void> {
  const { counted } = await import("../progress.ts");
  const found = await stat(from).catch(explain(from));
  const isFolder = (await typeOf(files, to, options)) === "directory" || to.endsWith("/");
  const target = isFolder ? `${to.replace(/\/+$/, "")}/${basename(join(process.cwd(), from))}` : to;
  if (found.isDirectory()) {
    const { packFolder } = await import("../tar/write.ts");
    await files.unpack(target, counted(packFolder(from)), { parents: true, ...options });
  } else {
    const mode = found.mode & 0o777;
    await files.write(target, counted(createReadStream(from)), { mode, parents: true, ...options });
  }
}

async function bringOut({ files }: Sandbox, from: string, to: string, options: Options): Promise<void> {
  const { counted } = await import("../progress.ts");
  const entry = await files.stat(from, options);
  const isFolder = (await stat(to).catch(() => undefined))?.isDirectory() || to.endsWith("/");
  const target = isFolder ? join(to, basename(entry.path)) : to;
  if (entry.type === "directory") {
    const { landArchive } = await import("../tar/land.ts");
    const { leftOut } = await landArchive(counted(await files.pack(from, options)), join(target));
    for (const path of leftOut)
      process.stderr.write(`left out, a link that leads away: ${printable(path)}\n`);
  } else {
    const { data, mode } = await files.read(from, options);
    await writeWhole(target, counted(data), mode & 0o777);
  }
}

/** Beside its place first, so that a copy that breaks off leaves what was there. */
async function writeWhole(path: string, data: AsyncIterable<Uint8Array>, mode: number): Promise<void> {
  const { draftFor } = await import("../draft.ts");
  const draft = await draftFor(path);
  const file = await open(draft, "wx", 0o600).catch(explain(path));
  try {
    for await (const part of data) await file.write(part);
    await file.chmod(mode);
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    await explain(path)(error as NodeJS.ErrnoException);
  } finally {
    await file.close();
  }
}

async function typeOf(files: Files, path: string, options: Options): Promise<string | undefined> {
  return files.stat(path, options).then(
    ({ type }) => type,
    () => undefined,
  );
}

/** This machine's own errors, in the words of the error table. */
function explain(path: string) {
  return async (cause: NodeJS.ErrnoException): Promise<never> => {
    throw (await import("../host-file.ts")).aboutPath(path, cause);
  };
}
