/** Beginnings of ids are what people copy; shorter ones mean nothing. */
const SHORTEST_BEGINNING = 3;

/** What was most likely meant, if any of them is near enough to be meant at all. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const begun = known.filter((one) => one.startsWith(word));
  if (word.length >= SHORTEST_BEGINNING && begun.length === 1) return begun[0];
  const most = Math.ceil(word.length * 0.4);
  return known
    .map((one) => ({ one, steps: stepsBetween(word.toLowerCase(), one.toLowerCase(), most) }))
    .filter(({ one, steps }) => steps <= most && steps < one.length)
    .sort((a, b) => a.steps - b.steps)[0]?.one;
}

/** Letters put in, left out, exchanged, or swapped with their neighbour. */
function stepsBetween(from: string, to: string, most: number): number {
  if (Math.abs(from.length - to.length) > most) return most + 1;
  let [before, last] = [[] as number[], Array.from({ length: to.length + 1 }, (_, at) => at)];
  for (let row = 1; row <= from.length; row += 1) {
    const now = [row];
    for (let at = 1; at <= to.length; at += 1) {
      const differs = from[row - 1] === to[at - 1] ? 0 : 1;
      const steps = Math.min(value(last, at) + 1, value(now, at - 1) + 1, value(last, at - 1) + differs);
      const swapped = row > 1 && at > 1 && from[row - 1] === to[at - 2] && from[row - 2] === to[at - 1];
      now[at] = swapped ? Math.min(steps, value(before, at - 2) + 1) : steps;
    }
    [before, last] = [last, now];
  }
  return value(last, to.length);
}

function value(row: readonly number[], at: number): number {
  return row[at] ?? Number.POSITIVE_INFINITY;
}
