const WORD = new TextEncoder().encode("http/1.1");

/**
 * The one protocol that is read, as TLS writes it. Node copies what it is given for each
 * connection, and a list of words into 64 KiB that it shares with whatever else is small, so that
 * an idle connection kept all of it. Of a view like this it copies nine bytes.
 */
export const HTTP_1 = new DataView(Uint8Array.of(WORD.length, ...WORD).buffer);
