import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);
const LONGEST_MS = 240_000;

export interface Said {
  readonly stdout: string;
  readonly stderr: string;
}

/** What a program says. One that fails may say nothing of why: how it ended is told with all it had said. */
export async function saidBy(
  program: string,
  args: readonly string[],
  env: Readonly<NodeJS.ProcessEnv>,
): Promise<Said> {
  try {
    return await run(program, args, { env, timeout: LONGEST_MS });
  } catch (error) {
    const { code, signal, killed, stdout, stderr } = error as Said & Partial<NodeJS.ErrnoException> & Ended;
    const how = `code ${code}, signal ${signal}${killed ? `, killed after ${LONGEST_MS} ms` : ""}`;
    const told = `${args.join(" ")} ended with ${how}\nstdout: ${stdout}\nstderr: ${stderr}`;
    throw new Error(told, { cause: error });
  }
}

interface Ended {
  readonly signal?: string | null;
  readonly killed?: boolean;
}
