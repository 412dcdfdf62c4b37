import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { SandboxerError } from "@sandboxer/contract";
import type { Pinned } from "../_kit/mirror/host-folder.ts";

/** Work with the very folder that was judged, under a name that leads to it whatever becomes of its own. */
export async function throughPinned<T>(
  { source, device, inode }: Pick<Pinned, "source" | "device" | "inode">,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  const folder = await open(source, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch(replaced(source));
  try {
    const { dev, ino } = await folder.stat({ bigint: true });
    if (`${dev}` !== device || `${ino}` !== inode) replaced(source)();
    return await work(`/proc/self/fd/${folder.fd}`);
  } finally {
    await folder.close();
  }
}

const replaced = (source: string) => (cause?: unknown) => {
  throw new SandboxerError("invalid_state", `${source} is no longer the folder that it was`, {
    hint: "Somebody moved or replaced it meanwhile: try again.",
    cause,
  });
};
