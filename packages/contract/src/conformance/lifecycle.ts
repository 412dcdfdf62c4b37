import { sandboxIdSchema } from "../ids.ts";
import { collect } from "../process.ts";
import { bytes, equal, ok, refuses, shell, text, until } from "./assert.ts";
import type { Case } from "./subject.ts";

export const lifecycleCases: Case[] = [
  {
    name: "creates sandboxes with ids of ours and lists every one",
    async run({ subject, sandbox }) {
      const another = await subject.create();
      ok(sandboxIdSchema.safeParse(another.id).success, `not an id of ours: ${another.id}`);
      const listed = await subject.list();
      ok(listed.includes(sandbox.id) && listed.includes(another.id), "one is missing from the list");
      await subject.destroy(another.id);
      ok(!(await subject.list()).includes(another.id), "still listed after its end");
    },
  },
  {
    name: "destroys what is gone without complaint, and refuses to run anything in it",
    async run({ subject }) {
      const sandbox = await subject.create();
      await subject.destroy(sandbox.id);
      await subject.destroy(sandbox.id);
      await refuses("sandbox_gone", () => sandbox.exec({ argv: ["true"] }));
    },
  },
  {
    name: "tells the reader of a process when its sandbox is destroyed",
    async run({ subject }) {
      const sandbox = await subject.create();
      const process = await sandbox.exec({ argv: ["sleep", "60"] });
      const reading = collect(process);
      const outcome = reading.then(
        () => "ended",
        (error) => error.code,
      );
      await subject.destroy(sandbox.id);
      equal(await outcome, "sandbox_gone", "what the reader saw");
    },
  },
  {
    name: "passes the sandbox's variables to every process",
    async run({ subject }) {
      const sandbox = await subject.create({ env: { PROJECT: "walking skeleton" } });
      equal(await shell(sandbox, 'echo "$PROJECT"'), "walking skeleton\n", "variable");
      await subject.destroy(sandbox.id);
    },
  },
  {
    name: "UM-4 does nothing as root where root is denied",
    async run({ subject }) {
      const sandbox = await subject.create({ root: "denied" });
      // Where there is one user alone, there is no root to deny.
      const codes = ["permission_denied", "no_such_user"];
      for (const user of ["root", "0"]) {
        for (const attempt of [
          () => sandbox.exec({ argv: ["true"], user }),
          () => sandbox.files.write("/tmp/planted", [bytes("x")], { user }),
        ]) {
          const code = await attempt().then(
            () => "done",
            (error) => error.code,
          );
          ok(codes.includes(code), `as ${user}: ${code}`);
        }
      }
      equal(await shell(sandbox, "id -u"), "1000\n", "the user it has");
      await subject.destroy(sandbox.id);
    },
  },
  {
    name: "ends a sandbox when its time is up",
    async run({ subject }) {
      const sandbox = await subject.create({ ttlMs: 2_000 });
      await until("gone from the list", async () => !(await subject.list()).includes(sandbox.id));
      await refuses("sandbox_gone", () => sandbox.exec({ argv: ["true"] }));
    },
  },
  {
    name: "XS-3 shares neither files nor processes between sandboxes",
    async run({ subject, sandbox }) {
      const other = await subject.create();
      const canary = `canary-${other.id}`;
      for (const place of ["/tmp", "/home/user", "/dev/shm"]) {
        await other.files.write(`${place}/${canary}`, [bytes("secret")]);
      }
      const sleeper = await other.exec({ argv: ["sh", "-c", `: ${canary}; sleep 60`] });
      const search = `find / -xdev -name '${canary}' 2>/dev/null; find /tmp /dev/shm -name '${canary}'`;
      equal(await shell(sandbox, search), "", "files found in another sandbox");
      const seen = await shell(sandbox, `cat /proc/[0-9]*/cmdline | tr '\\0' ' '`);
      ok(!seen.includes(`: ${canary}; sleep`), `another sandbox's process is visible: ${text(bytes(seen))}`);
      ok(sleeper.id.length > 0, "control: the other process was started");
      equal(await shell(other, `find /tmp -name '${canary}' | wc -l`), "1\n", "control");
      await subject.destroy(other.id);
    },
  },
];
