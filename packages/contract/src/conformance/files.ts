import { bytes, equal, ok, patterned, readAll, refuses, sameBytes, shell, text } from "./assert.ts";
import type { Case, SubjectSandbox } from "./subject.ts";

const content = async (sandbox: SubjectSandbox, path: string): Promise<string> =>
  text(await readAll((await sandbox.files.read(path)).data));

export const fileCases: Case[] = [
  {
    name: "writes what it then reads, byte for byte",
    async run({ sandbox }) {
      const whole = patterned(5 << 20);
      const half = whole.length / 2;
      const parts = [whole.subarray(0, half), whole.subarray(half)];
      equal(await sandbox.files.write("round-trip", parts), whole.length, "bytes written");
      const back = await sandbox.files.read("round-trip");
      equal(back.size, whole.length, "size");
      ok(sameBytes(await readAll(back.data), whole), "bytes changed on the way");
    },
  },
  {
    name: "writes an empty file",
    async run({ sandbox }) {
      await sandbox.files.write("empty", []);
      equal((await sandbox.files.stat("empty")).size, 0, "size");
    },
  },
  {
    name: "shares files with processes, owned by the user",
    async run({ sandbox }) {
      await sandbox.files.write("/home/user/from-outside", [bytes("hello")]);
      equal(await shell(sandbox, "cat from-outside; stat -c %u from-outside"), "hello1000\n", "in");
      await shell(sandbox, "printf back > from-inside");
      equal(await content(sandbox, "from-inside"), "back", "out");
    },
  },
  {
    name: "replaces, appends and sets the mode",
    async run({ sandbox }) {
      await sandbox.files.write("log", [bytes("one,")], { mode: 0o640 });
      await sandbox.files.write("log", [bytes("two")], { append: true });
      equal(await content(sandbox, "log"), "one,two", "appended");
      await sandbox.files.write("log", [bytes("new")]);
      equal(await content(sandbox, "log"), "new", "replaced");
      equal((await sandbox.files.stat("log")).mode, 0o640, "mode");
    },
  },
  {
    name: "reads a range",
    async run({ sandbox }) {
      await sandbox.files.write("range", [bytes("0123456789")]);
      const part = await sandbox.files.read("range", { offset: 3, length: 4 });
      equal([part.size, text(await readAll(part.data))], [10, "3456"], "range");
    },
  },
  {
    name: "makes, lists, moves and removes",
    async run({ sandbox }) {
      const { files } = sandbox;
      equal(await files.mkdir("tree/a/b", { parents: true }), true, "made");
      equal(await files.mkdir("tree/a/b", { parents: true }), false, "made again");
      await files.write("tree/a/b/leaf", [bytes("x")]);
      await files.move("tree/a/b/leaf", "tree/a/moved");
      await shell(sandbox, "ln -s moved tree/a/link");
      const listed = await files.list("tree", { depth: 2 });
      const shown = listed.map((entry) => [entry.path, entry.type, entry.target ?? ""].join(" "));
      equal(
        shown.sort(),
        [
          "/home/user/tree/a directory ",
          "/home/user/tree/a/b directory ",
          "/home/user/tree/a/link symlink moved",
          "/home/user/tree/a/moved file ",
        ],
        "listing",
      );
      await refuses("is_a_directory", () => files.remove("tree"));
      await files.remove("tree", { recursive: true });
      await refuses("path_not_found", () => files.stat("tree"));
    },
  },
  {
    name: "makes missing folders on the way only when asked",
    async run({ sandbox }) {
      await refuses("path_not_found", () => sandbox.files.write("deep/er/file", [bytes("x")]));
      await sandbox.files.write("deep/er/file", [bytes("x")], { parents: true });
      equal(await content(sandbox, "deep/er/file"), "x", "content");
    },
  },
  {
    name: "keeps names with spaces, quotes and other scripts",
    async run({ sandbox }) {
      const name = "odd 'name' \"with\" $(parts) #?%2e ü 🌍";
      await sandbox.files.write(`odd-names/${name}`, [bytes("here")], { parents: true });
      equal((await sandbox.files.list("odd-names")).length, 1, "entries");
      equal(await content(sandbox, `odd-names/${name}`), "here", "content");
    },
  },
  {
    name: "refuses what is not a regular file",
    async run({ sandbox }) {
      await refuses("path_not_found", () => sandbox.files.read("nowhere"));
      await refuses("is_a_directory", () => sandbox.files.read("/tmp"));
      await shell(sandbox, "mkfifo pipe");
      await refuses("invalid_request", () => sandbox.files.read("pipe"));
      await refuses("invalid_request", () => sandbox.files.read("/dev/zero"));
    },
  },
  {
    name: "acts with the user's rights, not with its own",
    async run({ sandbox }) {
      await shell(sandbox, "echo x > locked && chmod 000 locked; mkdir -p shut && chmod 555 shut");
      await refuses("permission_denied", () => sandbox.files.read("locked"));
      await refuses("permission_denied", () => sandbox.files.write("shut/planted", [bytes("x")]));
      await refuses("permission_denied", () => sandbox.files.mkdir("/usr/planted"));
    },
  },
];
