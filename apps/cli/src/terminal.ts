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

/**
 * Lends this terminal to the process: every key goes to it, every change of size too. The terminal
 * is given back as it was, however this ends.
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
  } finally {
    giveBack();
    stdout.off("resize", resize);
    process.off("exit", giveBack);
  }
}
