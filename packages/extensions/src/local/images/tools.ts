import { stat } from "node:fs/promises";
import { join } from "node:path";
import { SandboxerError } from "@sandboxer/contract";
import type { Sensitive } from "../../_kit/sensitive.ts";
import type { Made, Mount } from "../root.ts";

/** As boxd has it where nobody says otherwise. */
const USUAL_PATH = "/run/boxd/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** The host image with more of this machine's folders: read-only, under their own names, and none that is sensitive. */
export async function withTools(host: Made, tools: readonly string[], sensitive: Sensitive): Promise<Made> {
  if (tools.length === 0) return host;
  const mounts: Mount[] = [];
  const programs: string[] = [];
  for (const folder of tools) {
    if (!(await isFolder(folder))) {
      throw new SandboxerError("invalid_request", `tools: ${folder} is not a folder`);
    }
    mounts.push({ source: folder, target: folder, readOnly: true, judged: true });
    if (await isFolder(join(folder, "bin"))) programs.push(join(folder, "bin"));
  }
  const root = { ...host.root, ...sensitive, mounts: [...host.root.mounts, ...mounts] };
  return {
    root,
    env: { ...host.env, ...(programs.length > 0 && { PATH: [...programs, USUAL_PATH].join(":") }) },
  };
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
}
