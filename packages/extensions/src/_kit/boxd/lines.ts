import { SandboxerError } from "@sandboxer/contract";

/** What a sandbox sends line by line. One that never ends a line is not listened to for ever. */
export async function* linesOf(
  source: AsyncIterable<Uint8Array>,
  maximumCharacters: number,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let begun: string[] = [];
  let length = 0;
  for await (const part of source) {
    const [first = "", ...more] = decoder.decode(part, { stream: true }).split("\n");
    begun.push(first);
    length += first.length;
    if (length > maximumCharacters) {
      throw new SandboxerError("extension_failed", "the sandbox sent a line that is too long");
    }
    const last = more.pop();
    if (last === undefined) continue;
    yield begun.join("");
    yield* more;
    begun = [last];
    length = last.length;
  }
}
