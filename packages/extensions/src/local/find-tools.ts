import { readdir } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Finding } from "@sandboxer/contract";

/** Where version managers keep what they installed: one folder for each version, or one below each kind. */
const MANAGERS = [
  { place: ".nvm/versions/node", depth: 1 },
  { place: ".pyenv/versions", depth: 1 },
  { place: ".rbenv/versions", depth: 1 },
  { place: ".rustup/toolchains", depth: 1 },
  { place: ".local/share/mise/installs", depth: 2 },
  { place: ".asdf/installs", depth: 2 },
  { place: ".sdkman/candidates", depth: 2 },
];
const SHOWN_AT_MOST = 8;

/** Folders that the `host` image does not show, and that `tools` could add to it. */
export async function findTools(home = homedir()): Promise<Finding> {
  const found = await Promise.all(MANAGERS.map(({ place, depth }) => below(join(home, place), depth)));
  const folders = found.flat();
  const shown = folders.slice(0, SHOWN_AT_MOST).join(", ");
  const more = folders.length > SHOWN_AT_MOST ? `, and ${folders.length - SHOWN_AT_MOST} more` : "";
  const message =
    folders.length === 0
      ? "no version manager's tools beside this machine's programs"
      : `tools that sandboxes do not see, unless \`--tools\` names them: ${shown}${more}`;
  return { id: "local.tools", ok: true, message };
}

async function below(folder: string, depth: number): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const folders = entries.flatMap((entry) => (entry.isDirectory() ? join(folder, entry.name) : []));
  if (depth === 1) return folders;
  return (await Promise.all(folders.map((one) => below(one, depth - 1)))).flat();
}
