/** What is looked for in bytes that come piece by piece. */
export interface Needle<T> {
  readonly bytes: Buffer;
  readonly means: T;
}

interface Found<T> {
  readonly at: number;
  readonly needle: Needle<T>;
}

/** The first of them in these bytes; of those that begin together the longest. */
export function findFirst<T>(bytes: Buffer, needles: readonly Needle<T>[], from = 0): Found<T> | undefined {
  let first: Found<T> | undefined;
  for (const needle of needles) {
    const at = bytes.indexOf(needle.bytes, from);
    if (at < 0 || (first && at > first.at)) continue;
    if (first && at === first.at && needle.bytes.length <= first.needle.bytes.length) continue;
    first = { at, needle };
  }
  return first;
}

/**
 * Passes bytes on, each of the needles as `change` says, wherever the pieces are cut. So much is held
 * back as could be the beginning of one; so what makes `change` throw has not left.
 */
export async function* replaceIn<T>(
  source: AsyncIterable<Buffer>,
  needles: readonly Needle<T>[],
  change: (needle: Needle<T>) => Buffer,
): AsyncGenerator<Buffer> {
  const longest = Math.max(0, ...needles.map(({ bytes }) => bytes.length));
  let held: Buffer = Buffer.alloc(0);
  for await (const part of source) {
    held = held.length > 0 ? Buffer.concat([held, part]) : part;
    const safe = held.length - tailLength(held, needles, longest);
    const { done, rest } = replaced(held, needles, change, safe);
    if (done.length > 0) yield done;
    held = rest;
  }
  const { done, rest } = replaced(held, needles, change, held.length);
  const left = Buffer.concat([done, rest]);
  if (left.length > 0) yield left;
}

function replaced<T>(
  bytes: Buffer,
  needles: readonly Needle<T>[],
  change: (needle: Needle<T>) => Buffer,
  safe: number,
): { done: Buffer; rest: Buffer } {
  const parts: Buffer[] = [];
  let from = 0;
  for (let found = findFirst(bytes, needles); found; found = findFirst(bytes, needles, from)) {
    // It may be a part of a longer one that has only begun.
    if (found.at >= safe) break;
    parts.push(bytes.subarray(from, found.at), change(found.needle));
    from = found.at + found.needle.bytes.length;
  }
  const end = Math.max(from, safe);
  parts.push(bytes.subarray(from, end));
  return { done: Buffer.concat(parts), rest: bytes.subarray(end) };
}

/** How much of the end could be the beginning of a needle. */
function tailLength<T>(bytes: Buffer, needles: readonly Needle<T>[], longest: number): number {
  const firsts = new Set(needles.map(({ bytes: [first] }) => first));
  for (let length = Math.min(longest - 1, bytes.length); length > 0; length--) {
    if (!firsts.has(bytes[bytes.length - length])) continue;
    const tail = bytes.subarray(bytes.length - length);
    if (needles.some(({ bytes: one }) => one.length > length && one.subarray(0, length).equals(tail))) {
      return length;
    }
  }
  return 0;
}
