/**
 * As TLS writes them. Node copies what it is given for each connection, and a list of words into
 * 64 KiB that it shares with whatever else is small, so that an idle connection kept all of it. Of a
 * view like this it copies a few bytes.
 */
function written(...words: string[]): DataView {
  const coder = new TextEncoder();
  const bytes = words.flatMap((word) => [word.length, ...coder.encode(word)]);
  return new DataView(Uint8Array.from(bytes).buffer);
}

/** The one protocol that is read. */
export const HTTP_1 = written("http/1.1");

/** Whoever speaks nothing else may speak HTTP/2, so that it can be told why that goes no further. */
export const HTTP_1_FIRST = written("http/1.1", "h2");
