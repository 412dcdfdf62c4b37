import { access, readFile } from "node:fs/promises";
import { userInfo } from "node:os";
import type { Finding } from "@sandboxer/contract";

/** Where boxd looks for them, too. */
const FOLDERS = ["/usr/bin", "/usr/sbin", "/bin", "/run/wrappers/bin"];
const HELPERS = ["newuidmap", "newgidmap"];
const FILES = ["/etc/subuid", "/etc/subgid"];
/** Every id of a sandbox but 0, which is this user's own. */
const NEEDED = 65_535;

/** Whether sandboxes can have more users than one. What a sandbox has, it records. */
export async function findUsers(): Promise<Finding> {
  const id = "local.users";
  if (process.getuid?.() === 0) return { id, ok: true, message: "a range of user ids for each sandbox" };
  const user = whoThisIs();
  for (const helper of HELPERS) {
    if (!(await isInstalled(helper))) return oneUser(user.username, `${helper} is not installed`);
  }
  for (const file of FILES) {
    const text = await readFile(file, "utf8").catch(() => "");
    if (!lends(text, user)) return oneUser(user.username, `${file} gives this user no ${NEEDED} ids`);
  }
  return { id, ok: true, message: "subordinate user ids, shared by this user's sandboxes" };
}

/** A user that the machine has no name for, as in many containers, goes by its number. */
function whoThisIs(): { readonly uid: number; readonly username: string } {
  try {
    return userInfo();
  } catch {
    const uid = process.getuid?.() ?? -1;
    return { uid, username: String(uid) };
  }
}

const oneUser = (name: string, reason: string): Finding => ({
  id: "local.users",
  ok: false,
  message: `sandboxes have one user and no root: ${reason}`,
  fix: `As root: \`apt-get install uidmap && usermod --add-subuids 100000-165535 --add-subgids 100000-165535 ${name}\`, then restart the gateway.`,
});

async function isInstalled(program: string): Promise<boolean> {
  const tries = FOLDERS.map((folder) => access(`${folder}/${program}`));
  return Promise.any(tries).then(
    () => true,
    () => false,
  );
}

/** Lines are `name:first:count` or `uid:first:count`. */
export function lends(text: string, user: { readonly uid: number; readonly username: string }): boolean {
  return text.split("\n").some((line) => {
    const [who, first, count] = line.split(":");
    const isOurs = who === user.username || who === String(user.uid);
    return isOurs && Number(first) > 0 && Number(count) >= NEEDED;
  });
}
