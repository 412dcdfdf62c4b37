import { expect, it } from "vitest";
import { DEFAULT_RESOURCES } from "./resources.ts";
import { sandboxRequestSchema } from "./spec.ts";

const asked = (resources: unknown) => sandboxRequestSchema.safeParse({ resources });

it("gives every limit that is left out its default", () => {
  expect(sandboxRequestSchema.parse({}).resources).toEqual(DEFAULT_RESOURCES);
  expect(sandboxRequestSchema.parse({}).limits).toBe("best-effort");
  expect(asked({ cpus: 0.5 }).data?.resources).toEqual({ ...DEFAULT_RESOURCES, cpus: 0.5 });
});

it.for([
  [{ cpus: 0 }, "cpus"],
  [{ cpus: Number.NaN }, "cpus"],
  [{ memoryMiB: 1 }, "memoryMiB"],
  [{ memoryMiB: 64.5 }, "memoryMiB"],
  [{ pids: -1 }, "pids"],
  [{ openFiles: 3 }, "openFiles"],
  [{ diskMiB: 1e12 }, "diskMiB"],
  [{ diskMiB: 4, diskInodes: 1_000_000 }, "diskInodes"],
] as const)("refuses the impossible %j and names the field", ([resources, field]) => {
  const { success, error } = asked(resources);
  expect(success).toBe(false);
  expect(error?.issues.map(({ path }) => path.join("."))).toEqual([`resources.${field}`]);
});

it("refuses a limit it does not know", () => {
  expect(asked({ memory: 64 }).success).toBe(false);
});
