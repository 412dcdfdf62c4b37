import { createSocket } from "node:dgram";
import { isIPv6 } from "node:net";

const A = 1;
const CNAME = 5;
const AAAA = 28;
/** Instead of an address: nobody answers, and whoever asked will ask again. */
export const SILENCE = "?";
const TYPE_NAMES: Readonly<Record<number, string>> = { [A]: "A", [AAAA]: "AAAA", 16: "TXT", 255: "ANY" };

/** An authority for everything: answers from the zone, and remembers every question. */
export function serveDns(zone: ReadonlyMap<string, string[][]>, record: (question: string) => void): void {
  const turns = new Map<string, number>();
  const socket = createSocket("udp4");
  socket.on("message", (question, from) => {
    const { name, type, end } = read(question);
    record(`${TYPE_NAMES[type] ?? type} ${name}`);
    const answers = zone.get(name);
    const turn = turns.get(name) ?? 0;
    if (type === A) turns.set(name, turn + 1);
    // Each question gets the next of the answers: how a name changes its mind.
    const given = answers?.[Math.min(turn, answers.length - 1)] ?? [];
    if (given.includes(SILENCE)) return;
    const records = recordsOf(type, given);
    socket.send(reply(question.subarray(0, end), records, answers !== undefined), from.port, from.address);
  });
  socket.bind(53);
}

interface Answered {
  readonly type: number;
  readonly data: Buffer;
}

/** An address, or `@name` for one that is another name of that. */
function recordsOf(type: number, given: readonly string[]): Answered[] {
  return given.flatMap((one) => {
    if (one.startsWith("@")) return [{ type: CNAME, data: nameOf(one.slice(1)) }];
    if (isIPv6(one)) return type === AAAA ? [{ type, data: sixteenBytes(one) }] : [];
    return type === A ? [{ type, data: Buffer.from(one.split(".").map(Number)) }] : [];
  });
}

function nameOf(name: string): Buffer {
  const labels = name.split(".").flatMap((label) => [Buffer.from([label.length]), Buffer.from(label)]);
  return Buffer.concat([...labels, Buffer.from([0])]);
}

function sixteenBytes(address: string): Buffer {
  const [head = "", tail] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split("::");
  const groups = (text: string | undefined) => (text ? text.split(":") : []);
  const [before, after] = [groups(head), groups(tail)];
  const zeros = Array<string>(8 - before.length - after.length).fill("0");
  const all = tail === undefined ? before : [...before, ...zeros, ...after];
  return Buffer.from(
    all.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255]),
  );
}

function read(question: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = question[at] ?? 0; length > 0; length = question[at] ?? 0) {
    labels.push(question.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), type: question.readUInt16BE(at + 1), end: at + 5 };
}

function reply(question: Buffer, records: readonly Answered[], exists: boolean): Buffer {
  const header = Buffer.from(question);
  header.writeUInt16BE(exists ? 0x8580 : 0x8583, 2);
  header.writeUInt16BE(records.length, 6);
  header.writeUInt32BE(0, 8);
  const answers = records.flatMap(({ type, data }) => {
    const about = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, data.length >> 8, data.length & 255]);
    return [about, data];
  });
  return Buffer.concat([header, ...answers]);
}
