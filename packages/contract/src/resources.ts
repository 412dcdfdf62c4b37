import { z } from "zod";

const MOST_MIB = 2 ** 30;

/**
 * How much of a machine a sandbox may use. What is left out is not limited. The least values are
 * those below which not even an empty sandbox works.
 */
export const resourcesSchema = z.strictObject({
  /** Processors, also in parts: 0.5 is half of one. */
  cpus: z.number().min(0.01, "cpus: at least 0.01").max(4096).optional(),
  /** Everything that is memory: programs, page cache, /tmp, /dev/shm. Nothing goes to swap. */
  memoryMiB: z.int().min(16, "memoryMiB: at least 16").max(MOST_MIB).optional(),
  /** Processes and threads. */
  pids: z.int().min(4, "pids: at least 4").max(4_194_304).optional(),
  /** Of each process. */
  openFiles: z.int().min(64, "openFiles: at least 64").max(1_048_576).optional(),
  /** What the sandbox writes outside of /tmp and /dev/shm, the filesystem's own books included. */
  diskMiB: z.int().min(4, "diskMiB: at least 4").max(MOST_MIB).optional(),
  /** Files and folders on that disk; left out, one for each 16 KiB of it. */
  diskInodes: z.int().min(64, "diskInodes: at least 64").max(4_294_967_295).optional(),
});
export type Resources = z.infer<typeof resourcesSchema>;

/** What a caller gets who says nothing. */
export const DEFAULT_RESOURCES: Resources = {
  cpus: 2,
  memoryMiB: 2_048,
  pids: 1_024,
  openFiles: 4_096,
  diskMiB: 10_240,
};

/** What a caller may send: each limit left out is the default's; a disk has room for its inodes. */
export const resourcesRequestSchema = resourcesSchema
  .prefault({})
  .transform((asked): Resources => ({ ...DEFAULT_RESOURCES, ...asked }))
  .refine(({ diskMiB = 0, diskInodes = 0 }) => diskInodes <= diskMiB * 1_024, {
    path: ["diskInodes"],
    error: "diskInodes: at most one for each KiB of the disk",
  });

/**
 * `required`: an extension that cannot hold every limit refuses. `best-effort`: it holds what it
 * can, and the sandbox says what is not in force.
 */
export const limitsSchema = z.enum(["required", "best-effort"]);
