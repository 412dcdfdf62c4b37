import { collect } from "../process.ts";
import { equal, ok, readAll, refuses, shell, text, until } from "./assert.ts";
import type { Case, SubjectSandbox } from "./subject.ts";

const COUNT = "i=0; while :; do i=$((i+1)); echo $i > /tmp/next && mv /tmp/next /tmp/count; sleep 0.01; done";

const count = async (sandbox: SubjectSandbox): Promise<number> => {
  const { data } = await sandbox.files.read("/tmp/count");
  return Number(text(await readAll(data)));
};

export const pauseCases: Case[] = [
  {
    name: "keeps every process and file through a pause, and goes on where it stopped",
    async run({ subject }) {
      const sandbox = await subject.create();
      const counter = await sandbox.exec({ argv: ["sh", "-c", COUNT] });
      const output = collect(counter).catch((error) => error.code);
      await until("it counts", async () => (await count(sandbox).catch(() => 0)) > 2);
      await sandbox.pause();
      await sandbox.pause();
      const { cpuTimeMs } = await sandbox.metrics();
      // Long enough for a counter that runs to be seen running.
      await new Promise((resolve) => setTimeout(resolve, 200));
      equal((await sandbox.metrics()).cpuTimeMs, cpuTimeMs, "processor time while paused");
      ok((await subject.list()).includes(sandbox.id), "a paused sandbox is not listed");

      await sandbox.resume();
      await sandbox.resume();
      const before = await count(sandbox);
      await until("it goes on", async () => (await count(sandbox)) > before);
      equal(await shell(sandbox, "echo same"), "same\n", "a command after the pause");
      await subject.destroy(sandbox.id);
      equal(await output, "sandbox_gone", "what the counter's reader saw");
    },
  },
  {
    name: "RL-8 ends a paused sandbox at once",
    async run({ subject }) {
      const sandbox = await subject.create();
      await sandbox.pause();
      await subject.destroy(sandbox.id);
      ok(!(await subject.list()).includes(sandbox.id), "still listed after its end");
    },
  },
  {
    name: "ends a paused sandbox when its time is up",
    async run({ subject }) {
      const sandbox = await subject.create({ ttlMs: 4_000 });
      await sandbox.pause();
      await until("gone from the list", async () => !(await subject.list()).includes(sandbox.id));
      await refuses("sandbox_gone", () => sandbox.exec({ argv: ["true"] }));
    },
  },
];
