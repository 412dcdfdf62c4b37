import type { Exit, TerminalSize } from "@sandboxer/contract";
import type { RemoteProcess } from "@sandboxer/sdk";
import { relay } from "./relay.ts";

const DEFAULT_SIZE: TerminalSize = { cols: 80, rows: 24 };

/** This terminal's size, or a usual one where there is none. */
export function terminalSize(): TerminalSize {
  const { columns, rows } = process.stdout;
  return columns && rows ? { cols: columns, rows } : DEFAULT_SIZE;
}

/** What a program in a terminal should know of ours. */
export function terminalVariables(): Record<string, string> {
  const { TERM, COLORTERM } = process.env;
  return { ...(TERM && { TERM }), ...(COLORTERM && { COLORTERM }) };
}

/** No brackets around what is pasted, as a shell asks for, and a new line after its prompt. */
const TAKEN_BACK = "\x1b[?2004l\n";

/**
 * Lends this terminal to the process: every key goes to it, every change of size too. The terminal
 * is given back as it was, however this ends: a program that was cut off could not put right what it
 * had asked of it.
 */
export async function lendTerminal(remote: RemoteProcess): Promise<Exit> {
  const { stdin, stdout } = process;
  const giveBack = () => void (stdin.isTTY && !stdin.destroyed && stdin.setRawMode(false));
  const resize = () => void remote.resize(terminalSize()).catch(() => {});
  process.on("exit", giveBack);
  stdout.on("resize", resize);
  if (stdin.isTTY) stdin.setRawMode(true);
  try {
    return await relay(remote, true, giveBack);
  } catch (error) {
    giveBack();
    if (stdout.isTTY) stdout.write(TAKEN_BACK);
    throw error;
  } finally {
    giveBack();
    stdout.off("resize", resize);
    process.off("exit", giveBack);
  }
}
