import { collect, SandboxerError } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";
import { z } from "zod";
import type { Build } from "./build.ts";
import { bringUpload } from "./holder.ts";

const STEP_WITHIN_MS = 1_800_000;

export const stepSchema = z.object({
  type: z.enum(["COPY", "RUN", "ENV", "WORKDIR", "USER"]),
  args: z.array(z.string()).default([]),
  filesHash: z.string().max(128).nullish(),
});
type Step = z.output<typeof stepSchema>;

/** What steps before have set for those that follow. */
export interface Ground {
  readonly core: Core;
  readonly build: Build;
  readonly sandboxId: string;
  readonly env: Record<string, string>;
  cwd: string;
  user: string;
  tell(message: string): void;
}

/** Copies as E2B's COPY does: a file to a name, several or a folder's content into a folder. */
const COPY = `
cd "$1" || exit 1; dest=$3; owner=$4; mode=$5
set -- $2
[ -e "$1" ] || [ -L "$1" ] || { echo "nothing to copy" >&2; exit 1; }
if [ $# -eq 1 ] && [ -d "$1" ] && [ ! -L "$1" ]; then mkdir -p "$dest" && cp -a "$1/." "$dest/"
elif [ $# -eq 1 ] && [ "\${dest%/}" = "$dest" ] && [ ! -d "$dest" ]; then mkdir -p "$(dirname "$dest")" && cp -a "$1" "$dest"
else mkdir -p "$dest" && cp -a "$@" "$dest/"; fi || exit 1
chown -hR "$owner:" "$dest" || exit 1
[ -z "$mode" ] || chmod -R "$mode" "$dest"
`;

export async function runStep(ground: Ground, { type, args, filesHash }: Step): Promise<void> {
  const [first = "", second = "", third = "", fourth = ""] = args;
  switch (type) {
    case "ENV":
      for (let at = 0; at + 1 < args.length; at += 2) ground.env[args[at] ?? ""] = args[at + 1] ?? "";
      return;
    case "USER":
      ground.user = first;
      return;
    case "WORKDIR":
      await shell(ground, 'mkdir -p "$1" && chown "$2:" "$1"', ["root", first, ground.user]);
      ground.cwd = first;
      return;
    case "RUN":
      return command(ground, first, second || ground.user);
    case "COPY": {
      const from = await bringUpload(ground.core, ground.build, filesHash ?? "", ground.sandboxId);
      const owner = third || ground.user;
      const to = second.startsWith("/") ? second : `${ground.cwd}/${second}`;
      return shell(ground, COPY, ["root", from, first, to, owner, fourth]);
    }
  }
}

async function command(ground: Ground, text: string, user: string): Promise<void> {
  try {
    await run(ground, ["/bin/bash", "-l", "-c", text], user);
  } catch (error) {
    const { code, message } = SandboxerError.from(error);
    const why = code === "no_such_user" ? `unauthenticated: invalid username: '${user}'` : message;
    throw new SandboxerError("setup_failed", `failed to run command '${text}': command failed: ${why}`);
  }
}

function shell(ground: Ground, script: string, [user, ...args]: [string, ...string[]]): Promise<void> {
  return run(ground, ["/bin/bash", "-c", script, "bash", ...args], user);
}

async function run(
  { core, build, sandboxId, env, cwd, tell }: Ground,
  argv: string[],
  user: string,
): Promise<void> {
  const input = { argv, env, cwd, user, timeoutMs: STEP_WITHIN_MS };
  const { stdout, stderr, exit } = await collect(await core.exec(build.principal, sandboxId, input), 1 << 20);
  for (const output of [stdout, stderr]) {
    const text = Buffer.from(output).toString("utf8").trimEnd();
    if (text !== "") tell(text);
  }
  if (exit.kind === "exited" && exit.code === 0) return;
  throw new SandboxerError("setup_failed", exit.kind === "exited" ? `exit status ${exit.code}` : exit.kind);
}
