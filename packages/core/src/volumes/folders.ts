import { chmod, chown, lstat, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";

/** The `user` of every sandbox: on backends that map no ids, the files are that one's. */
const USER_ID = 1000;

/** Made when it is first needed, so that a row without a folder is nothing to put right. */
export async function folderOf(dir: string, id: string): Promise<string> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const folder = join(dir, id);
  if (await lstat(folder).catch(() => undefined)) return folder;
  await mkdir(folder, { recursive: true, mode: 0o755 });
  await chmod(folder, 0o755);
  if (process.getuid?.() === 0) await chown(folder, USER_ID, USER_ID);
  return folder;
}

/** Links in it are removed, never followed. */
export async function removeFolder(dir: string, id: string): Promise<void> {
  await rm(join(dir, id), { recursive: true, force: true });
}
