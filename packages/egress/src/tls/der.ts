/** As much of DER as a certificate takes. */
const tagged = (tag: number, ...parts: Uint8Array[]): Buffer => {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), lengthOf(body.length), body]);
};

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes = length < 0x100 ? [length] : [length >> 8, length & 0xff];
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

export const sequence = (...parts: Uint8Array[]): Buffer => tagged(0x30, ...parts);
export const setOf = (...parts: Uint8Array[]): Buffer => tagged(0x31, ...parts);
export const octets = (body: Uint8Array): Buffer => tagged(0x04, body);
export const bits = (body: Uint8Array, unused = 0): Buffer => tagged(0x03, Buffer.from([unused]), body);
export const utf8 = (text: string): Buffer => tagged(0x0c, Buffer.from(text));
export const yes = (): Buffer => tagged(0x01, Buffer.from([0xff]));
/** Its own tag around something, as optional members have. */
export const explicit = (number: number, ...parts: Uint8Array[]): Buffer => tagged(0xa0 | number, ...parts);
/** Its own tag instead of the usual one. */
export const implicit = (number: number, body: Uint8Array): Buffer => tagged(0x80 | number, body);

/** Never negative. */
export function integer(value: Uint8Array | number): Buffer {
  const bytes = typeof value === "number" ? Buffer.from([value]) : Buffer.from(value);
  return tagged(0x02, (bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes);
}

export function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split(".").map(Number);
  const bytes = [first * 40 + second];
  for (const part of rest) {
    const groups = [part & 0x7f];
    for (let left = part >> 7; left > 0; left >>= 7) groups.unshift((left & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return tagged(0x06, Buffer.from(bytes));
}

/** Good until 2049, which no certificate of ours lives to see. */
export function time(date: Date): Buffer {
  const text = date.toISOString().replaceAll(/[-:T]/g, "").slice(2, 14);
  return tagged(0x17, Buffer.from(`${text}Z`));
}
