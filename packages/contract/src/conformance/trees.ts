import type { FileChange } from "../files.ts";
import { bytes, equal, ok, readAll, refuses, run, shell, text, until } from "./assert.ts";
import type { Case, SubjectSandbox } from "./subject.ts";

/** Everything below a folder, as its own `find` and checksums see it. */
const census = (sandbox: SubjectSandbox, folder: string) =>
  shell(
    sandbox,
    `cd ${folder} && find . -printf '%y %m %p %l\\n' | sort && find . -type f | sort | xargs -d '\\n' cksum`,
  );

const TREE = `rm -rf tree && mkdir -p tree/a/b tree/empty && cd tree && echo one > a/one && head -c 200000 /dev/urandom > a/b/blob
: > nothing && chmod 750 a && chmod 604 a/one && ln -s a/one link && ln -s /no/where dangling && echo x > 'odd ü name'
long=$(printf 'd%.0s' $(seq 120)) && mkdir -p $long/$long && echo deep > $long/$long/file && chmod 500 empty`;

export const treeCases: Case[] = [
  {
    name: "packs a folder and unpacks it the same elsewhere",
    async run({ sandbox }) {
      await shell(sandbox, TREE);
      const archive = await readAll(await sandbox.files.pack("tree"));
      const unpacked = await sandbox.files.unpack("copies/tree", [archive], { parents: true });
      equal([unpacked.entries, unpacked.skipped], [13, 0], "entries");
      equal(await census(sandbox, "copies/tree"), await census(sandbox, "tree"), "the copy");
      equal(await shell(sandbox, "stat -c %u copies/tree/a/one"), "1000\n", "owner");
    },
  },
  {
    name: "packs a single file by its name",
    async run({ sandbox }) {
      await sandbox.files.write("single", [bytes("alone")]);
      const archive = await readAll(await sandbox.files.pack("single"));
      await sandbox.files.unpack("for-single", [archive], { parents: true });
      equal(await shell(sandbox, "cat for-single/single"), "alone", "content");
    },
  },
  {
    name: "reads what the sandbox's tar writes, and writes what it reads",
    async run({ sandbox }) {
      await shell(sandbox, TREE);
      for (const format of ["ustar", "gnu", "pax"]) {
        const made = await run(sandbox, [
          "tar",
          "-C",
          "tree",
          `--format=${format}`,
          "-cf",
          `in-${format}.tar`,
          "a",
          "link",
        ]);
        equal(made.exit, { kind: "exited", code: 0 }, text(made.stderr));
        const { data } = await sandbox.files.read(`in-${format}.tar`);
        await sandbox.files.unpack(`from-${format}`, data, { parents: true });
        equal(
          await shell(sandbox, `cksum < from-${format}/a/b/blob`),
          await shell(sandbox, "cksum < tree/a/b/blob"),
          format,
        );
      }
      await sandbox.files.write("out.tar", await sandbox.files.pack("tree"));
      await shell(sandbox, "rm -rf by-tar && mkdir by-tar && tar -C by-tar -xpf out.tar");
      equal(await census(sandbox, "by-tar"), await census(sandbox, "tree"), "what tar made of ours");
    },
  },
  {
    name: "refuses what is no archive, and one that is cut off",
    async run({ sandbox }) {
      await shell(sandbox, TREE);
      const { files } = sandbox;
      const archive = await readAll(await files.pack("tree"));
      await files.mkdir("broken");
      await refuses("invalid_request", () =>
        files.unpack("broken", [archive.subarray(0, archive.length - 1500)]),
      );
      await refuses("invalid_request", () => files.unpack("broken", []));
      await refuses("invalid_request", () =>
        files.unpack("broken", [bytes("this is no archive".repeat(100))]),
      );
      await refuses("path_not_found", () => files.unpack("nowhere-at-all", [archive]));
      await refuses("path_not_found", () => files.pack("nowhere-at-all"));
      await refuses("permission_denied", () => files.unpack("/usr", [archive]));
    },
  },
  {
    name: "tells what changes in a folder and below it",
    async run({ sandbox }) {
      await shell(sandbox, "rm -rf seen && mkdir -p seen/old");
      const watch = await sandbox.files.watch("seen", { recursive: true });
      const heard: string[] = [];
      const listening = (async () => {
        for await (const change of watch.changes) heard.push(describe(change));
      })();
      const hears = (what: string) => until(`${what} in ${heard}`, async () => heard.includes(what));
      await shell(sandbox, "echo x > seen/file");
      await hears("created file");
      await hears("changed file");
      await sandbox.files.write("seen/whole", [new TextEncoder().encode("z")]);
      await hears("created whole");
      await shell(sandbox, "mkdir -p seen/new/deep && echo y > seen/new/deep/leaf && chmod 600 seen/old");
      await hears("created new/deep/leaf");
      await hears("attributes old");
      await shell(sandbox, "mv seen/new seen/moved && rm seen/file");
      await hears("removed new");
      await hears("created moved/deep/leaf");
      await shell(sandbox, "echo z >> seen/moved/deep/leaf");
      await hears("changed moved/deep/leaf");
      await hears("removed file");
      watch.close();
      await listening;
      ok(!heard.some((line) => line.includes(".boxd-")), `heard ${heard}`);
      await refuses("not_a_directory", () => sandbox.files.watch("/etc/passwd"));
    },
  },
  {
    name: "watches one folder only, unless asked, and ends with it",
    async run({ sandbox }) {
      await shell(sandbox, "rm -rf flat && mkdir -p flat/below");
      const watch = await sandbox.files.watch("flat");
      const heard: string[] = [];
      const listening = (async () => {
        for await (const change of watch.changes) heard.push(describe(change));
      })();
      await shell(sandbox, "echo x > flat/below/quiet; rm -rf flat");
      await listening;
      ok(heard.includes("removed below"), `heard ${heard}`);
      ok(!heard.some((line) => line.includes("quiet")), `heard ${heard}`);
    },
  },
];

const describe = (change: FileChange): string =>
  change.type === "overflow"
    ? "overflow"
    : `${change.type} ${change.path.replace(/^\/home\/user\/[^/]+\//, "")}`;
