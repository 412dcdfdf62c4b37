import { setTimeout as sleep } from "node:timers/promises";

/** Between a question and its keys: who was typing something else has stopped by then. */
const SETTLE_MS = 300;

const CTRL_C = "\u0003";
const CTRL_D = "\u0004";

/**
 * The keys of a terminal, one for each question. It is read all the time and what nobody waits for is
 * dropped: a key pressed before a question was shown, or behind the one that answered, answers nothing.
 */
export interface Keyboard {
  /** Shows what may be pressed, and gives the first key that is pressed after that. */
  press(offer: string): Promise<string>;
}

export function openKeyboard(): Keyboard {
  const { stdin, stdout } = process;
  let answer: ((key: string) => void) | undefined;
  process.on("exit", () => void (!stdin.destroyed && stdin.setRawMode(false)));
  stdin.setRawMode(true);
  stdin.on("data", (bytes: Buffer) => {
    const key = bytes.toString("latin1", 0, 1);
    if (key === CTRL_C || key === CTRL_D) process.exit(130);
    answer?.(key);
    answer = undefined;
  });
  stdin.on("end", () => process.exit(130));
  return {
    async press(offer) {
      await sleep(SETTLE_MS);
      stdout.write(offer);
      return new Promise((resolve) => {
        answer = resolve;
      });
    },
  };
}
