import type { Files } from "@sandboxer/contract";
import type { Sandbox } from "@sandboxer/sdk";
import { writeOut } from "./relay.ts";

/** This process's own input or output, where a path is expected. */
export const STANDARD = "-";

type Options = { readonly user?: string };

/** A file as it is; of a folder, a tar archive of it. */
export async function toStandardOutput({ files }: Sandbox, from: string, options: Options): Promise<void> {
  const { type } = await files.stat(from, options);
  const data =
    type === "directory" ? await files.pack(from, options) : (await files.read(from, options)).data;
  for await (const part of data) await writeOut(process.stdout, part);
}

export async function fromStandardInput(files: Files, to: string, options: Options): Promise<void> {
  const found = await files.stat(to, options).catch(() => undefined);
  if (found?.type === "directory" || to.endsWith("/")) {
    const { SandboxerError } = await import("@sandboxer/contract");
    throw new SandboxerError(
      "is_a_directory",
      `${to} is a folder, and what is piped has no name of its own`,
      {
        hint: "Give the file's whole path after the colon.",
      },
    );
  }
  await files.write(to, process.stdin, { parents: true, ...options });
}
