import type { AskedCall } from "@sandboxer/contract";

/** More would only be noise to whoever has to decide: they are denied at once. */
const MOST_OF_A_SANDBOX = 32;
/** Whoever decides has their own, shorter patience; this is for when nobody is there at all. */
const PATIENCE_MS = 3_600_000;

/** Connections and requests that wait for somebody's word. */
export interface Questions {
  /** Nothing but a yes is one. */
  ask(sandbox: string, call: AskedCall, left: Promise<void>): Promise<boolean>;
  answer(question: number, isAllowed: boolean): void;
}

type Say = (message: object) => void;

export function createQuestions(say: Say): Questions {
  const open = new Map<number, { readonly sandbox: string; settle(isAllowed: boolean): void }>();
  let last = 0;
  return {
    async ask(sandbox, call, left) {
      const others = [...open.values()].filter((one) => one.sandbox === sandbox).length;
      if (others >= MOST_OF_A_SANDBOX) return false;
      last += 1;
      const question = last;
      const answer = Promise.withResolvers<boolean>();
      const timer = setTimeout(() => answer.resolve(false), PATIENCE_MS).unref();
      open.set(question, { sandbox, settle: answer.resolve });
      say({ event: "ask", sandbox, question, call });
      void left.then(() => answer.resolve(false));
      try {
        return await answer.promise;
      } finally {
        clearTimeout(timer);
        open.delete(question);
        say({ event: "left", sandbox, question });
      }
    },
    answer: (question, isAllowed) => open.get(question)?.settle(isAllowed),
  };
}
