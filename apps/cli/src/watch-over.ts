import { type Sandbox, SandboxerError } from "@sandboxer/contract";

/** What leads into a sandbox may be used by nobody for hours, and then nothing else would tell. */
const LOOK_MS = 2_000;

/**
 * Looks after a sandbox until it is over, which is thrown. `lost` is called once for each thing that
 * keeps one from reaching it, and `back` when nothing does any more.
 */
export async function watchOver(
  look: () => Promise<{ readonly info: Sandbox }>,
  { lost, back }: { lost(error: SandboxerError): void; back(): void },
): Promise<never> {
  let said = "";
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    const found = await look().then(
      ({ info }) => whyUnreachable(info),
      (error) => SandboxerError.from(error),
    );
    if (found?.code === "sandbox_gone" || found?.code === "not_found") throw found;
    const message = found?.message ?? "";
    if (found && message !== said) lost(found);
    if (!found && said) back();
    said = message;
  }
}

/** In the words of who would refuse to do something inside it. */
export function whyUnreachable(sandbox: Sandbox): SandboxerError | undefined {
  const { id, name = id, state, pauseDepth, reason } = sandbox;
  if (state === "running") return undefined;
  const details = { sandboxId: id, state };
  if (state === "paused") {
    const [word, verb] = pauseDepth === "disk" ? ["stopped", "start"] : ["paused", "resume"];
    const hint = `\`sandboxer ${verb} ${name}\` brings it back.`;
    return new SandboxerError("invalid_state", `the sandbox is ${word}`, { hint, details });
  }
  const isOnItsWay = state === "requested" || state === "provisioning";
  const why = reason ? `: ${reason}` : "";
  return new SandboxerError(isOnItsWay ? "invalid_state" : "sandbox_gone", `the sandbox is ${state}${why}`, {
    details,
  });
}
