import { existsSync, readFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Box,
  collect,
  execRequestSchema,
  type Metrics,
  newRowId,
  newSandboxId,
  type Process,
  type Resources,
} from "@sandboxer/contract";
import { createLocalExtension } from "@sandboxer/extensions/local";
import { PLAIN_SPEC } from "../conformance/direct.ts";
import { removeEngine } from "../conformance/remove-engine.ts";

/** Whoever still answers has gone on: how soon, on a busy machine, is no promise. */
const PATIENCE_MS = 90_000;
const context = { installationId: newRowId("ins"), orgId: newRowId("org") };

/** An engine whose sandboxes are small, with a neighbour that must never notice. */
export async function openLimitedEngine() {
  const dir = await mkdtemp(join(tmpdir(), "sandboxer-limits-"));
  const extension = createLocalExtension({ dir });
  const boxes = new Set<Box>();

  const create = async (resources: Resources): Promise<LimitedBox> => {
    const spec = { ...PLAIN_SPEC, resources, limits: "required" as const };
    const box = await extension.create(spec, { ...context, sandboxId: newSandboxId() });
    boxes.add(box);
    return {
      box,
      run: (argv, more) => run(box, argv, more),
      metrics: () => extension.metrics?.read(box.ref, context) as Promise<Metrics>,
      pause: () => extension.pause?.pause(box.ref, context) as Promise<void>,
      group: (file) => readGroup(dir, box.ref, file),
      async destroy() {
        boxes.delete(box);
        await within(PATIENCE_MS, "the sandbox ends", extension.destroy(box.ref, context));
      },
    };
  };
  const neighbour = await create({ memoryMiB: 256, pids: 64, openFiles: 4_096, diskMiB: 64 });

  return {
    dir,
    create,
    neighbour,
    attach: (ref: string) => extension.attach(ref, context),
    /** Whatever one sandbox does, the others and hold itself go on. */
    async othersGoOn(): Promise<void> {
      const answer = await within(PATIENCE_MS, "the neighbour answers", neighbour.run(["echo", "fine"]));
      if (answer.text !== "fine\n") throw new Error(`the neighbour said ${JSON.stringify(answer.text)}`);
      await within(PATIENCE_MS, "hold answers", extension.list(context));
    },
    async close(): Promise<void> {
      for (const { ref } of await extension.list(context)) await extension.destroy(ref, context);
      await extension.close();
      await removeEngine(dir);
    },
  };
}

export interface LimitedBox {
  readonly box: Box;
  run(argv: string[], more?: object): ReturnType<typeof run>;
  metrics(): Promise<Metrics>;
  pause(): Promise<void>;
  /** A file of its control group, read on the host. */
  group(file: string): string;
  destroy(): Promise<void>;
}

async function run(box: Box, argv: string[], more: object = {}) {
  const request = execRequestSchema.parse({ argv, timeoutMs: 100_000, ...more });
  const result = await collect(await box.exec(request, "att"));
  return {
    ...result,
    text: Buffer.from(result.stdout).toString(),
    complaint: Buffer.from(result.stderr).toString(),
  };
}

function readGroup(dir: string, ref: string, file: string): string {
  const { groups } = JSON.parse(readFileSync(join(dir, "boxes", ref, "box.json"), "utf8"));
  const folders = Object.values(groups as Record<string, string>);
  const folder = folders.find((one) => existsSync(join(one, file)));
  if (!folder) throw new Error(`no group has ${file}`);
  return readFileSync(join(folder, file), "utf8");
}

/** Starts a command that goes on, and gives the first line it prints. */
export async function firstLine(box: Box, argv: readonly string[]): Promise<string> {
  const process = await box.exec(execRequestSchema.parse({ argv }), "att");
  let text = "";
  const read = async () => {
    for await (const event of process.events) {
      if (event.type === "stdout") text += Buffer.from(event.data).toString();
      if (text.includes("\n")) break;
    }
    return text.split("\n")[0] ?? "";
  };
  return within(PATIENCE_MS, "the first line", read());
}

/** Where what is left of a process's output begins. */
export async function firstOffset(process: Process): Promise<{ stdout: number }> {
  for await (const event of process.events) if (event.type === "stdout") return { stdout: event.offset };
  throw new Error("nothing was written");
}

export const residentBytes = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * 4_096;

export const throttled = (cpuStat: string): number => Number(/^nr_throttled (\d+)/m.exec(cpuStat)?.[1]);

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function within<T>(patienceMs: number, what: string, work: Promise<T>): Promise<T> {
  const { promise: tooLate, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`not within ${patienceMs} ms: ${what}`)), patienceMs);
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}
