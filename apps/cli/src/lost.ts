import type { Process } from "@sandboxer/contract";
import type { Handle } from "./connect.ts";

/**
 * Work on a sandbox, where the gateway may go in the middle of it: what runs there then goes on
 * without anybody who reads it, and who waited is told where.
 */
export async function orTellWhere<T>(
  work: Promise<T>,
  { id, info }: Pick<Handle, "id" | "info">,
  remote: () => Process | undefined,
): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const { SandboxerError } = await import("@sandboxer/contract");
    const process = remote();
    if (!SandboxerError.is(error) || error.code !== "extension_unavailable" || !process) throw error;
    const name = info.name ?? id;
    throw new SandboxerError(error.code, `${error.message}; the command may go on in ${name}`, {
      cause: error,
      hint: `\`sandboxer logs ${name} ${process.id}\` shows what it says, and \`sandboxer rm ${name}\` ends it.`,
    });
  }
}
