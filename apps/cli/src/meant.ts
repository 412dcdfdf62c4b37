import { SandboxerError } from "@sandboxer/contract";
import { nearest } from "./nearest.ts";

/** As every way in says it of a sandbox that is not there, or not the caller's. */
const NO_SANDBOX = /^no sandbox (\S+)$/;

/** What else is named by people, and the command that shows what there is. */
const OTHERS = /^no (snapshot|key|volume|secret|approval) \S+$/;

/** Runs the work; where it names a sandbox that is not there, the hint names the one that was meant. */
export async function withMeant<T>(
  work: () => Promise<T>,
  living: () => Promise<readonly { readonly id: string; readonly name?: string | undefined }[]>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const [, kind] = (SandboxerError.is(error) && OTHERS.exec(error.message)) || [];
    if (SandboxerError.is(error) && kind !== undefined) {
      const hint = `\`sandboxer ${kind}s\` shows what there is.`;
      throw new SandboxerError(error.code, error.message, { hint, details: error.details, cause: error });
    }
    const [, word] = (SandboxerError.is(error) && NO_SANDBOX.exec(error.message)) || [];
    if (!SandboxerError.is(error) || word === undefined) throw error;
    // What is asked for help may fail as well; then the first error says enough.
    const found = await living().catch(() => []);
    const meant = nearest(
      word,
      found.flatMap(({ id, name }) => (name === undefined ? [id] : [name, id])),
    );
    const hint = meant === undefined ? "`sandboxer ls` shows those that live." : `Did you mean ${meant}?`;
    throw new SandboxerError(error.code, error.message, { hint, details: error.details, cause: error });
  }
}
