/** One file, folder or link of an archive. Folders come before what is in them. */
export interface ArchiveEntry {
  readonly path: string;
  /** Type and permission bits, as `st_mode` has them. */
  readonly mode: number;
  readonly content?: Uint8Array;
}

const HEADER_BYTES = 110;

/** A cpio archive in the "newc" format, the one the kernel unpacks as its first root; all is root's. */
export function newcArchive(entries: readonly ArchiveEntry[]): Buffer {
  const parts = entries.map((entry, index) => encode(entry, index + 1));
  return Buffer.concat([...parts, encode({ path: "TRAILER!!!", mode: 0 }, 0)]);
}

function encode({ path, mode, content = new Uint8Array() }: ArchiveEntry, inode: number): Buffer {
  const name = Buffer.from(`${path}\0`);
  const fields = [
    ...[inode, mode, 0, 0, 1, 0, content.length],
    ...[0, 0, 0, 0], // No device that holds it, none that it is.
    ...[name.length, 0],
  ];
  const header = `070701${fields.map((field) => field.toString(16).padStart(8, "0")).join("")}`;
  const head = Buffer.concat([Buffer.from(header, "ascii"), name]);
  return Buffer.concat([head, padding(HEADER_BYTES + name.length), content, padding(content.length)]);
}

/** Names and contents end on a multiple of four bytes. */
function padding(length: number): Buffer {
  return Buffer.alloc((4 - (length % 4)) % 4);
}
