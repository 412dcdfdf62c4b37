import { chmod, chown, lstat, mkdir, readFile, realpath, rm } from "node:fs/promises";
import { join } from "node:path";
import { SandboxerError } from "@sandboxer/contract";

/** The `user` of every sandbox: on backends that map no ids, the files are that one's. */
const USER_ID = 1000;
const MOUNTINFO = "/proc/self/mountinfo";

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

/** What is mounted below it is somebody else's, and would be emptied with it. */
export async function refuseMounted(dir: string, id: string, mountinfo = MOUNTINFO): Promise<void> {
  const folder = await realpath(join(dir, id)).catch(() => undefined);
  if (folder === undefined) return;
  const mounts = await readFile(mountinfo, "utf8").catch((cause) => {
    // Other systems have none.
    if (process.platform !== "linux") return "";
    throw new SandboxerError("conflict", "what is mounted in the volume's folder cannot be seen", {
      hint: "Let the gateway read /proc/self/mountinfo: what is behind a mount is not the volume's.",
      cause,
    });
  });
  const points = mounts.split("\n").map((line) => unescaped(line.split(" ")[4] ?? ""));
  const mounted = points.find((point) => point === folder || point.startsWith(`${folder}/`));
  if (mounted === undefined) return;
  throw new SandboxerError("conflict", `something is mounted at ${mounted}, in the volume's folder`, {
    hint: "Unmount it first: what is behind it is not the volume's.",
  });
}

/** As the kernel writes names with blanks in them. */
function unescaped(point: string): string {
  return point.replace(/\\([0-7]{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)));
}

/** Links in it are removed, never followed. */
export async function removeFolder(dir: string, id: string, mountinfo = MOUNTINFO): Promise<void> {
  await refuseMounted(dir, id, mountinfo);
  await rm(join(dir, id), { recursive: true, force: true });
}
