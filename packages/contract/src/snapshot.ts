import { z } from "zod";
import type { ByteSource } from "./files.ts";
import { nameSchema, rowIdSchema, sandboxIdSchema } from "./ids.ts";
import { sandboxSchema } from "./sandbox.ts";
import { imageSchema, labelsSchema, runbookSchema } from "./spec.ts";

/** All that a sandbox ever wrote, as it was at one moment. Files only: no process, variable or key is in it. */
export const snapshotSchema = z.strictObject({
  id: rowIdSchema,
  name: nameSchema.optional(),
  labels: labelsSchema,
  orgId: z.string(),
  principalId: z.string(),
  /** Of which sandbox; absent where it was imported. */
  sandboxId: sandboxIdSchema.optional(),
  /** The snapshot which that sandbox was made from. */
  parentId: rowIdSchema.optional(),
  /** What it lies on: it restores only over the same. */
  image: imageSchema,
  /** What its sandbox was set up for, in words; a sandbox made from it has the same, unless it says its own. */
  runbook: runbookSchema.optional(),
  createdAtMs: z.int(),
  /** When it goes by itself, where it has no name and its sandbox said how old one may be. */
  expiresAtMs: z.int().optional(),
  /** Of all its layers. */
  bytes: z.int().nonnegative(),
  /** Of its manifest, as in `sha256:…`: which snapshot it is, wherever it is. */
  digest: z.string(),
  /** Fingerprint of the key that vouches for it. */
  signer: z.string(),
});
export type Snapshot = z.infer<typeof snapshotSchema>;

export const snapshotListSchema = z.strictObject({ snapshots: z.array(snapshotSchema) });

/** Those that have all of these labels. */
export interface SnapshotFilter {
  readonly labels?: Readonly<Record<string, string>>;
}

export const takeSnapshotBodySchema = z.strictObject({
  name: nameSchema.optional(),
  labels: labelsSchema.default({}),
});
export type TakeSnapshotBody = z.input<typeof takeSnapshotBodySchema>;

export const forkBodySchema = z
  .strictObject({
    /** One, or as many as there are names. */
    count: z.int().min(1).max(100).optional(),
    /** One for each, as every sandbox can have one. */
    names: z.array(nameSchema).min(1).max(100).optional(),
  })
  .refine(({ count, names }) => !names || count === undefined || count === names.length, {
    path: ["names"],
    message: "there is one for each of them",
  })
  .refine(({ names = [] }) => new Set(names).size === names.length, {
    path: ["names"],
    message: "no two are the same",
  });
export type ForkRequest = z.output<typeof forkBodySchema>;
export type ForkBody = z.input<typeof forkBodySchema>;

export const forkedSchema = z.strictObject({ sandboxes: z.array(sandboxSchema) });

export const importOptionsSchema = z.strictObject({
  name: nameSchema.optional(),
  /** The fingerprint of another installation's key whose snapshot may be taken in. */
  trust: z.string().max(100).optional(),
});
export type ImportOptions = z.input<typeof importOptionsSchema>;

/** The sandbox's own files, or what it changed in its copy-on-write workspace. */
export type LayerKind = "root" | "workspace";

export interface Snapshots {
  /** How many layers of others lie below its own root's. */
  readonly below: number;
  /**
   * A layer as OCI has it: its own, or of its root the one so many below. Everybody inside stands
   * still while the root's is read. More than `mostBytes` is `storage_full`, said before they come.
   */
  capture(
    kind: LayerKind,
    options?: { readonly below?: number; readonly mostBytes?: number },
  ): Promise<AsyncIterable<Uint8Array>>;
  /** Into a fresh sandbox over the same image. */
  restore(kind: LayerKind, layer: ByteSource): Promise<void>;
  /** After the last layer: what it would have begun with, and none of them brought. */
  restored?(): Promise<void>;
}
