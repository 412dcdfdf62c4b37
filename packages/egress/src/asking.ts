import { askedCallSchema, type GuardAsk } from "@sandboxer/contract";

/** The gateway's side of what waits for somebody's word. */
export interface Asking {
  hear(message: Record<string, unknown>): void;
  leave(question: number): void;
  readonly leaveAll: () => void;
  readonly onAsk: (hear: (ask: GuardAsk) => void) => void;
}

export function createAsking(say: (order: object) => void): Asking {
  const leaving = new Map<number, () => void>();
  let hearer: ((ask: GuardAsk) => void) | undefined;
  const leave = (question: number): void => {
    leaving.get(question)?.();
    leaving.delete(question);
  };
  return {
    hear({ sandbox, question: number, call }) {
      const question = Number(number);
      const answer = (isAllowed: boolean) => say({ op: "answer", question, isAllowed });
      // Where nobody listens, nobody can have said yes.
      if (!hearer) return answer(false);
      const left = Promise.withResolvers<void>();
      leaving.set(question, left.resolve);
      hearer({ sandboxId: String(sandbox), call: askedCallSchema.parse(call), answer, left: left.promise });
    },
    leave,
    leaveAll: () => {
      for (const question of [...leaving.keys()]) leave(question);
    },
    onAsk: (hear) => {
      hearer = hear;
    },
  };
}
