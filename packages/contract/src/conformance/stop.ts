import { equal, ok, refuses, shell } from "./assert.ts";
import type { Case } from "./subject.ts";

const KEPT = "cat ~/kept; stat -c %a ~/kept; ls /tmp; ls -d ~/lost 2>/dev/null || true";

export const stopCases: Case[] = [
  {
    name: "keeps every file through a stop, ends every process, and starts over the same files",
    async run({ subject }) {
      const sandbox = await subject.create({ persistence: "persistent" });
      await shell(
        sandbox,
        "echo one > ~/kept; chmod 640 ~/kept; mkdir ~/lost; rmdir ~/lost; echo x > /tmp/brief",
      );
      const process = await sandbox.exec({ argv: ["sh", "-c", "trap '' TERM; setsid sleep 99"] });
      await sandbox.stop();
      await sandbox.stop();
      ok((await subject.list()).includes(sandbox.id), "a stopped sandbox is not listed");
      await refuses("invalid_state", () => sandbox.exec({ argv: ["true"] }));
      await sandbox.start();
      await sandbox.start();
      equal(await shell(sandbox, KEPT), "one\n640\n", "what was kept");
      equal((await sandbox.processes()).length, 1, "the processes of its new life");
      ok(process.id !== "", "it had one before");
      await shell(sandbox, "echo two >> ~/kept");
      await sandbox.stop();
      await sandbox.start();
      equal(await shell(sandbox, "cat ~/kept"), "one\ntwo\n", "what two lives wrote");
      await subject.destroy(sandbox.id);
      ok(!(await subject.list()).includes(sandbox.id), "still listed after its end");
    },
  },
  {
    name: "ends a stopped sandbox",
    async run({ subject }) {
      const sandbox = await subject.create({ persistence: "persistent" });
      await sandbox.stop();
      await subject.destroy(sandbox.id);
      ok(!(await subject.list()).includes(sandbox.id), "still listed after its end");
    },
  },
  {
    name: "stops a persistent sandbox when its time is up",
    async run({ subject }) {
      const sandbox = await subject.create({ persistence: "persistent", ttlMs: 6_000 });
      await shell(sandbox, "echo one > ~/kept");
      const deadline = Date.now() + 60_000;
      while (
        Date.now() < deadline &&
        (await sandbox.exec({ argv: ["true"] }).then(
          () => true,
          () => false,
        ))
      ) {
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      ok((await subject.list()).includes(sandbox.id), "it was not kept");
      await sandbox.start();
      equal(await shell(sandbox, "cat ~/kept"), "one\n", "what was kept");
      await subject.destroy(sandbox.id);
    },
  },
];
