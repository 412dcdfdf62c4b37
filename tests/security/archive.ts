import { Buffer } from "node:buffer";

/** One thing in an archive, as hostile as a test wants it. */
export interface Member {
  readonly name: string;
  readonly type?: string;
  readonly target?: string;
  readonly mode?: number;
  readonly uid?: number;
  readonly content?: string | Uint8Array;
  /** What the header says, whatever the content is. */
  readonly size?: number;
}

const BLOCK = 512;

/** A tar archive with exactly these members, nothing corrected. */
export function archiveOf(members: readonly (Member | Buffer)[], { isWhole = true } = {}): Buffer {
  const parts = members.map((member) => (Buffer.isBuffer(member) ? member : memberOf(member)));
  return Buffer.concat([...parts, ...(isWhole ? [Buffer.alloc(2 * BLOCK)] : [])]);
}

function memberOf({
  name,
  type = "0",
  target = "",
  mode = 0o644,
  uid = 0,
  content = "",
  size,
}: Member): Buffer {
  const body = Buffer.from(content as string);
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, length: number) =>
    header.write(value.toString(8).padStart(length - 1, "0"), at);
  header.write(name, 0, 100);
  octal(mode, 100, 8);
  octal(uid, 108, 8);
  octal(uid, 116, 8);
  octal(size ?? body.length, 124, 12);
  octal(1_700_000_000, 136, 12);
  header.write(type, 156);
  header.write(target, 157, 100);
  header.write("ustar\0", 257, "latin1");
  header.write("00", 263);
  header.fill(" ", 148, 156);
  octal(
    header.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  );
  return Buffer.concat([header, body, Buffer.alloc((BLOCK - (body.length % BLOCK)) % BLOCK)]);
}

/** A record that overrides the next header. */
export function paxOf(records: Readonly<Record<string, string>>): Buffer {
  const text = Object.entries(records).map(([key, value]) => {
    const rest = Buffer.byteLength(` ${key}=${value}\n`);
    let length = rest;
    while (length !== rest + String(length).length) length = rest + String(length).length;
    return `${length} ${key}=${value}\n`;
  });
  return memberOf({ name: "pax", type: "x", content: text.join("") });
}

/** GNU's own way of long names: `L` for the name, `K` for where a link leads. */
export const longOf = (type: "L" | "K", text: string): Buffer =>
  memberOf({ name: "././@LongLink", type, content: `${text}\0` });
