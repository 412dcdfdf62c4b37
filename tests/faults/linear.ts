/** One sandbox under one name, as far as anybody outside can tell. */
export type State = "absent" | "provisioning" | "running" | "destroying";

export type Verb = "create" | "exec" | "get" | "list" | "destroy";
export const VERBS: readonly Verb[] = ["create", "exec", "get", "list", "destroy"];

/** What a call answered: a state, or the code of its error. */
export interface Call {
  readonly verb: Verb;
  readonly answer: string;
}

/** A call under way: what it has still to do, and what it has seen. */
interface Step {
  readonly to: State;
  /** The answer that must have been given, if the call ends here. */
  readonly answers?: readonly string[];
  /** The call is not over: this follows, with everybody else's steps in between. */
  readonly later?: (state: State) => Step[];
}

const over = (to: State, ...answers: string[]): Step => ({ to, answers });

/** Each verb as the moments at which it touches the sandbox. This is the whole model. */
const MODEL: Readonly<Record<Verb, (state: State) => Step[]>> = {
  create: (state) =>
    state === "absent"
      ? [{ to: "provisioning", later: () => [over("running", "running")] }]
      : [over(state, "conflict")],
  get: (state) => [over(state, state === "absent" ? "not_found" : state)],
  list: (state) => [over(state, state === "absent" ? "none" : state)],
  exec(state) {
    if (state === "absent") return [over(state, "not_found")];
    if (state === "provisioning") return [over(state, "invalid_state")];
    if (state === "destroying") return [over(state, "sandbox_gone")];
    // Found running; by the time it starts, and until it has ended, its sandbox may be on its way out.
    const run = (now: State): Step[] => [over(now, ...(now === "running" ? ["ok"] : ["ok", "sandbox_gone"]))];
    return [{ to: state, later: (now) => [...run(now), { to: now, later: run }] }];
  },
  destroy(state) {
    if (state === "absent") return [over(state, "not_found")];
    if (state === "provisioning") return [over(state, "invalid_state")];
    // Whoever asks meanwhile waits for the same end; who found it just before may come just after.
    const finish = (now: State): Step[] => [over(now === "destroying" ? "absent" : now, "destroyed")];
    return [{ to: "destroying", later: finish }];
  },
};

/**
 * The states in which the sandbox may be after these calls were made at once, if some order of their
 * moments explains every answer; none when no order does.
 */
export function explain(before: State, calls: readonly Call[]): Set<State> {
  const ends = new Set<State>();
  const go = (
    state: State,
    left: readonly ((state: State) => Step[])[],
    answers: readonly string[],
  ): void => {
    if (left.length === 0) return void ends.add(state);
    for (const [index, next] of left.entries()) {
      for (const step of next(state)) {
        const { later } = step;
        if (later) go(step.to, left.with(index, later), answers);
        else if (step.answers?.includes(answers[index] ?? "")) {
          go(step.to, left.toSpliced(index, 1), answers.toSpliced(index, 1));
        }
      }
    }
  };
  go(
    before,
    calls.map(({ verb }) => MODEL[verb]),
    calls.map(({ answer }) => answer),
  );
  return ends;
}
