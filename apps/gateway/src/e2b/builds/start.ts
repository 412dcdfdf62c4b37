import { collect, type Principal, type Sandbox } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";
import { START_FOLDER } from "./run.ts";

const READY_WITHIN_MS = 60_000;
const LOOKS_EVERY_MS = 200;

/** What a template starts in every sandbox of it, and waits for; E2B has that in its memory's copy. */
export async function startTemplate(core: Core, principal: Principal, { id }: Sandbox): Promise<void> {
  const argv = (name: string) => ["/bin/bash", "-l", `${START_FOLDER}/${name}`];
  (await core.exec(principal, id, { argv: argv("start") })).detach();
  const files = await core.files(principal, id);
  if (!(await files.stat(`${START_FOLDER}/ready`).catch(() => undefined))) return;
  const untilMs = Date.now() + READY_WITHIN_MS;
  while (Date.now() < untilMs) {
    const left = { timeoutMs: Math.max(1_000, untilMs - Date.now()) };
    const { exit } = await collect(await core.exec(principal, id, { argv: argv("ready"), ...left }));
    if (exit.kind === "exited" && exit.code === 0) return;
    await new Promise((resolve) => setTimeout(resolve, LOOKS_EVERY_MS));
  }
}
