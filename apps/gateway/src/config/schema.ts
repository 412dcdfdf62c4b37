import { imageSchema, trustPolicySchema } from "@sandboxer/contract";
import { z } from "zod";

const port = z.int().min(0).max(65_535);
const hostName = z
  .string()
  .toLowerCase()
  .regex(/^[a-z0-9.:[\]-]+$/, "a host, with its port where that is part of it");

const microUsdPerHour = z.int().min(0).max(999_999_999_999).optional();
const priceSchema = z.strictObject({ microUsdPerHour, pausedMicroUsdPerHour: microUsdPerHour });

/** `<home>/config.yaml`. What is not here is refused: a misspelt limit must not be a missing one. */
export const configSchema = z.strictObject({
  listen: z
    .strictObject({
      host: z.string().min(1).default("127.0.0.1"),
      port: port.default(7070),
    })
    .prefault({}),
  /** PEM files. Needed to listen anywhere but on loopback, unless `insecure` says otherwise. */
  tls: z.strictObject({ cert: z.string().min(1), key: z.string().min(1) }).optional(),
  /** Lets keys travel in the clear: only behind something that keeps them secret. */
  insecure: z.boolean().default(false),
  log: z
    .strictObject({
      format: z.enum(["json", "text"]).optional(),
      /** Instead of standard error. */
      file: z.string().min(1).optional(),
    })
    .prefault({}),
  /** Names it answers to, and pages that may call it, besides loopback and none. */
  allowed: z
    .strictObject({ hosts: z.array(hostName).default([]), origins: z.array(z.url()).default([]) })
    .prefault({}),
  /** Names below it lead to previews. */
  previewHost: hostName.optional(),
  /** For programs written for E2B. */
  e2b: z
    .strictObject({
      /** Whether their sandboxes have the internet unless they say otherwise, as E2B's have. */
      internet: z.boolean().default(false),
      /** What images that template builds start from are here, by the name that builds use. */
      images: z.record(z.string(), imageSchema).default({}),
    })
    .prefault({}),
  /** Sandboxes kept ready of each kind that is asked for. Left out, one by `sandboxer up` and none otherwise. */
  pool: z.int().min(0).max(999).optional(),
  /** Of each key. */
  limits: z
    .strictObject({
      /** Left out, as fast as it can. */
      requestsPerSecond: z.number().positive().optional(),
      /** Requests and streams under way at once. */
      concurrent: z.int().positive().default(1_024),
    })
    .prefault({}),
  /** What an hour costs, by extension; while it is paused the same, unless said otherwise. */
  prices: z.record(z.string(), priceSchema).default({}),
  /** Extensions to be used although what they run on is below the floor of what is safe. */
  allowUnsafeRuntime: z.array(z.string().min(1)).default([]),
  docker: z
    .strictObject({
      /** Where images that the daemon lacks may come from, `default` for names that say none; left out, from nowhere. */
      registries: z.array(hostName).default([]),
      /** Offer the daemon's runtime `runsc` too, as the way out `docker-gvisor`: see docs/configuration.md. */
      gvisor: z.boolean().default(false),
    })
    .prefault({}),
  /** Images that the local engine keeps. */
  images: z
    .strictObject({
      /** Where they may come from; left out, from nowhere: whoever names an image names a host to talk to. */
      registries: z.array(hostName).default([]),
      /** The one of them that is meant where a name says none. */
      defaultRegistry: hostName.optional(),
      /** Those that are asked without TLS. Loopback always is. */
      plainHttp: z.array(hostName).default([]),
      /** A file as `docker login` writes it. */
      credentials: z.string().min(1).optional(),
      /** The most that one layer may unpack to. */
      maximumLayerMiB: z.int().positive().default(32_768),
    })
    .prefault({}),
  /** The most that one may hold; a file with holes is as large as it says. */
  snapshots: z.strictObject({ maximumMiB: z.int().positive().default(32_768) }).prefault({}),
  /** Where packages come from, by rule set; each set that is left out is nowhere. */
  packageHosts: z
    .partialRecord(z.enum(["npm", "pypi", "debian", "crates", "go"]), z.array(hostName).min(1))
    .default({}),
  /** What isolation agents get, by how far they are known. */
  trust: trustPolicySchema.prefault({}),
  /** Ways out from elsewhere: packages that export `createExtension`. */
  extensions: z
    .array(
      z.strictObject({
        /** As `import` names it, looked for from the home; or a path. */
        package: z.string().min(1),
        options: z.record(z.string(), z.unknown()).default({}),
      }),
    )
    .default([]),
});
export type Config = z.output<typeof configSchema>;
export type ConfigInput = z.input<typeof configSchema>;
