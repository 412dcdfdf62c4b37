import {
  type Guard,
  type GuardDoor,
  type Misuse,
  misuseSchema,
  type NetworkCall,
  SandboxerError,
  type Terms,
} from "@sandboxer/contract";
import { createAsking } from "./asking.ts";
import { budgetsOf, spentBudgets } from "./guard/budgets.ts";
import type { Spent } from "./guard/ward.ts";
import { type GuardOptions, keepGuard } from "./process.ts";
import { createSpending } from "./spending.ts";
import { type AuthorityKeys, newAuthority } from "./tls/certificate.ts";

const ANSWERS_WITHIN_MS = 15_000;
const KEPT_CALLS = 1_000;
const TRY_AGAIN_MS = 1_000;

/** What the gateway knows of a sandbox under guard, so that a new guard can be told all of it. */
interface Watched {
  readonly door: GuardDoor;
  terms: Terms;
  /** Changes that the guard has not answered yet. */
  readonly turns: Map<number, () => void>;
  lastTurn: number;
  readonly authority: AuthorityKeys;
  readonly calls: NetworkCall[];
  /** Where a call with this key of the guard's lies. */
  readonly seqs: Map<number, number>;
  lastSeq: number;
  readonly watching: PromiseWithResolvers<void>;
}

type Noted = Omit<NetworkCall, "seq">;

/** Who hears of what the guard sees. */
interface Told {
  misused(sandboxId: string, misuse: Misuse): void;
  called(sandboxId: string, call: NetworkCall, isNew: boolean): void;
}

/** The gateway's side of the guard. */
export function createGuard(options: GuardOptions): Guard {
  const watched = new Map<string, Watched>();
  const spending = createSpending(options.dir);
  const asking = createAsking((order) => guard.say(order));
  const told: Told = { misused() {}, called() {} };

  const tell = (sandbox: string, one: Watched): void =>
    guard.say(protection(sandbox, one, spending.of(sandbox)));
  const hear = (message: Record<string, unknown>): void => {
    const { event, sandbox, key, call, reason, turn, misuse, question } = message;
    const one = watched.get(String(sandbox));
    if (!one) return;
    if (event === "watching") one.watching.resolve();
    else if (event === "changed") one.turns.get(Number(turn))?.();
    else if (event === "call") told.called(String(sandbox), ...remember(one, Number(key), call as Noted));
    else if (event === "spent") spending.note(String(sandbox), String(message.purse), message.spent as Spent);
    else if (event === "ask") asking.hear(message);
    else if (event === "left") asking.leave(Number(question));
    else if (event === "misused") told.misused(String(sandbox), misuseSchema.parse(misuse));
    else if (event === "lost") tryAgain(String(sandbox), one, String(reason));
  };
  /** It may have been somebody else's turn. Until then the sandbox itself refuses everything. */
  const tryAgain = (sandbox: string, one: Watched, reason: string): void => {
    one.watching.reject(unavailable(reason));
    setTimeout(() => watched.get(sandbox) === one && tell(sandbox, one), TRY_AGAIN_MS).unref();
  };
  const guard = keepGuard(options, {
    hear,
    started() {
      for (const [sandbox, one] of watched) {
        beginAnew(one);
        tell(sandbox, one);
      }
    },
    gone: asking.leaveAll,
    isNeeded: () => watched.size > 0,
  });
  const forget = (sandbox: string): void => {
    if (watched.delete(sandbox)) guard.say({ op: "forget", sandbox });
  };

  return {
    async protect(sandboxId, door, terms) {
      const one = watch(sandboxId, door, terms, watched.get(sandboxId));
      watched.set(sandboxId, one);
      // One that starts now is told of all of them.
      if (!guard.start()) tell(sandboxId, one);
      await within(one.watching.promise, ANSWERS_WITHIN_MS).catch((error) => {
        if (watched.get(sandboxId) === one) forget(sandboxId);
        throw error;
      });
      return { certificate: one.authority.certificate };
    },
    async change(sandboxId, terms) {
      const one = watched.get(sandboxId);
      if (!one) throw new SandboxerError("invalid_state", "nobody guards this sandbox");
      await changeTerms(sandboxId, one, terms, guard.say);
    },
    knows: (sandboxId) => watched.has(sandboxId),
    ...{ forget, kept: spending.kept },
    end(sandboxId) {
      forget(sandboxId);
      spending.drop(sandboxId);
    },
    calls: (sandboxId, afterSeq = 0) =>
      (watched.get(sandboxId)?.calls ?? []).filter(({ seq }) => seq > afterSeq),
    budgets: (sandboxId) => {
      const one = watched.get(sandboxId);
      return one ? spentBudgets(budgetsOf(one.terms), spending.of(sandboxId)) : [];
    },
    onAsk: asking.onAsk,
    onCall: (called) => void Object.assign(told, { called }),
    onMisuse: (misused) => void Object.assign(told, { misused }),
    async close() {
      await guard.close();
      spending.flush();
    },
  };
}

function protection(sandbox: string, { door, terms, authority }: Watched, used: Map<string, Spent>): object {
  const spent = Object.fromEntries(used);
  return { op: "protect", sandbox, socket: door.socketPath, ...terms, authority, spent };
}

/** What a new guard is told is all there is, changes that were on their way included. */
function beginAnew({ seqs, turns }: Watched): void {
  seqs.clear();
  for (const heard of turns.values()) heard();
}

async function changeTerms(
  sandbox: string,
  one: Watched,
  terms: Terms,
  say: (order: object) => void,
): Promise<void> {
  one.terms = terms;
  one.lastTurn += 1;
  const turn = one.lastTurn;
  const answer = Promise.withResolvers<void>();
  one.turns.set(turn, answer.resolve);
  say({ op: "change", sandbox, ...terms, turn });
  await within(answer.promise, ANSWERS_WITHIN_MS).finally(() => one.turns.delete(turn));
}

function watch(sandboxId: string, door: GuardDoor, terms: Terms, known?: Watched): Watched {
  const watching = Promise.withResolvers<void>();
  watching.promise.catch(() => {});
  const { authority = newAuthority(`sandboxer ${sandboxId}`), calls = [], lastSeq = 0 } = known ?? {};
  return { door, terms, authority, calls, lastSeq, seqs: new Map(), turns: new Map(), lastTurn: 0, watching };
}

/** As it is kept, and whether it is the first word of it. */
function remember(one: Watched, key: number, call: Noted): [call: NetworkCall, isNew: boolean] {
  const known = one.seqs.get(key);
  if (known !== undefined) {
    const at = one.calls.findLastIndex(({ seq }) => seq === known);
    const again = { ...call, seq: known };
    if (at >= 0) one.calls[at] = again;
    return [again, false];
  }
  one.lastSeq += 1;
  one.seqs.set(key, one.lastSeq);
  const noted = { ...call, seq: one.lastSeq };
  one.calls.push(noted);
  if (one.calls.length > KEPT_CALLS) one.calls.shift();
  if (one.seqs.size > KEPT_CALLS * 2) one.seqs.delete(one.seqs.keys().next().value as number);
  return [noted, true];
}

async function within(answer: Promise<void>, ms: number): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(unavailable("it does not answer")), ms);
  try {
    await Promise.race([answer, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function unavailable(reason: string): SandboxerError {
  return new SandboxerError("extension_unavailable", `the guard does not watch this sandbox: ${reason}`);
}
