/** The first words of TLS, byte by byte, so that they can be wrong in any way. */
const block = (prefix: number, body: Buffer): Buffer => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length);
  return Buffer.concat([length.subarray(4 - prefix), body]);
};

export const extension = (kind: number, body: Buffer): Buffer =>
  Buffer.concat([Buffer.from([kind >> 8, kind & 255]), block(2, body)]);

/** One extension with these names in it. */
export const names = (...all: string[]): Buffer =>
  extension(
    0,
    block(
      2,
      Buffer.concat(all.map((name) => Buffer.concat([Buffer.from([0]), block(2, Buffer.from(name))]))),
    ),
  );

export const hiddenName: Buffer = extension(0xfe0d, Buffer.from([0, 0, 1, 0, 1, 1, 0, 0, 0, 0]));

/** In records of so many bytes. */
export function greeting(extensions: readonly Buffer[], recordBytes = 16_000): string {
  const versions = extension(43, Buffer.from([2, 3, 4]));
  const body = Buffer.concat([
    Buffer.from([3, 3]),
    Buffer.alloc(32, 9),
    block(1, Buffer.alloc(32, 1)),
    block(2, Buffer.from([0x13, 1])),
    block(1, Buffer.from([0])),
    block(2, Buffer.concat([...extensions, versions])),
  ]);
  const message = Buffer.concat([Buffer.from([1]), block(3, body)]);
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += recordBytes) {
    records.push(Buffer.from([22, 3, 1]), block(2, message.subarray(at, at + recordBytes)));
  }
  return Buffer.concat(records).toString("latin1");
}
