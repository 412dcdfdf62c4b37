import { createSocket } from "node:dgram";

const TYPE_NAMES: Readonly<Record<number, string>> = { 1: "A", 28: "AAAA", 16: "TXT", 255: "ANY" };

/** An authority for everything: answers from the zone, and remembers every question. */
export function serveDns(zone: ReadonlyMap<string, string[][]>, record: (question: string) => void): void {
  const turns = new Map<string, number>();
  const socket = createSocket("udp4");
  socket.on("message", (question, from) => {
    const { name, type, end } = read(question);
    record(`${TYPE_NAMES[type] ?? type} ${name}`);
    const answers = zone.get(name);
    const turn = turns.get(name) ?? 0;
    if (type === 1) turns.set(name, turn + 1);
    // Each question gets the next of the answers: how a name changes its mind.
    const addresses = type === 1 && answers ? (answers[Math.min(turn, answers.length - 1)] ?? []) : [];
    socket.send(reply(question.subarray(0, end), addresses, answers !== undefined), from.port, from.address);
  });
  socket.bind(53);
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

function reply(question: Buffer, addresses: readonly string[], exists: boolean): Buffer {
  const header = Buffer.from(question);
  header.writeUInt16BE(exists ? 0x8580 : 0x8583, 2);
  header.writeUInt16BE(addresses.length, 6);
  header.writeUInt32BE(0, 8);
  const answers = addresses.map((address) =>
    Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split(".").map(Number)]),
  );
  return Buffer.concat([header, ...answers]);
}
