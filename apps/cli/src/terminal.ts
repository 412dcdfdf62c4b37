import type { Exit, TerminalSize } from "@sandboxer/contract";
import type { RemoteProcess } from "@sandboxer/sdk";
import { relay } from "./relay.ts";
import { TerminalModes } from "./terminal-modes.ts";

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
 * is given back as it was, however this ends: a program that was cut off could not put right what it
 * had asked of it.
 */
export async function lendTerminal(remote: RemoteProcess): Promise<Exit> {
  const { stdin, stdout } = process;
  const modes = new TerminalModes();
  const giveBack = () => void (stdin.isTTY && !stdin.destroyed && stdin.setRawMode(false));
  const takeBack = () => void (stdout.isTTY && stdout.write(modes.takenBack()));
  const cutOff = () => {
    giveBack();
    takeBack();
  };
  const resize = () => void remote.resize(terminalSize()).catch(() => {});
  process.on("exit", cutOff);
  stdout.on("resize", resize);
  if (stdin.isTTY) stdin.setRawMode(true);
  try {
    const exit = await relay(remote, true, giveBack, (data) => modes.read(data));
    // What a program leaves that ends by itself is what it means to leave.
    if (exit.kind !== "exited") takeBack();
    return exit;
  } catch (error) {
    cutOff();
    // On a line of its own, after a prompt or what was typed.
    if (stdout.isTTY) stdout.write("\n");
    throw error;
  } finally {
    giveBack();
    stdout.off("resize", resize);
    process.off("exit", cutOff);
  }
}
