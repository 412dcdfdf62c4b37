import { createHash } from "node:crypto";
import { deflateSync } from "node:zlib";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
const BYTES_A_LINE = 52;

/** All of what was there and all of what is, as `git diff --binary` writes them. */
export function binaryLines(old: Uint8Array | undefined, now: Uint8Array | undefined): string[] {
  return [
    `index ${nameOf(old)}..${nameOf(now)}`,
    "GIT binary patch",
    ...literal(now ?? new Uint8Array()),
    "",
    ...literal(old ?? new Uint8Array()),
    "",
  ];
}

/** Git applies such a patch only to the very content that it names. */
function nameOf(content: Uint8Array | undefined): string {
  if (!content) return "0".repeat(40);
  return createHash("sha1").update(`blob ${content.length}\0`).update(content).digest("hex");
}

function literal(content: Uint8Array): string[] {
  const packed = deflateSync(content);
  const lines = [`literal ${content.length}`];
  for (let at = 0; at < packed.length; at += BYTES_A_LINE) {
    const part = packed.subarray(at, at + BYTES_A_LINE);
    lines.push(lengthMark(part.length) + base85(part));
  }
  return lines;
}

/** A to Z are 1 to 26, a to z are 27 to 52. */
const lengthMark = (length: number) => String.fromCharCode(length <= 26 ? 64 + length : 70 + length);

function base85(bytes: Buffer): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 4) {
    const four = Buffer.alloc(4);
    bytes.copy(four, 0, at, at + 4);
    let value = four.readUInt32BE();
    let five = "";
    for (let digit = 0; digit < 5; digit += 1) {
      five = DIGITS[value % 85] + five;
      value = Math.floor(value / 85);
    }
    text += five;
  }
  return text;
}
