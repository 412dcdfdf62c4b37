import { z } from "zod";
import { parseHostPattern } from "./host.ts";

const portSchema = z.int().min(1).max(65_535);

const hostPatternSchema = z
  .string()
  .max(255)
  .refine(
    (text) => parseHostPattern(text) !== undefined,
    "a host such as api.example.com, *.example.com (one label) or **.example.com (any depth)",
  );

const cidrSchema = z.union([z.cidrv4(), z.cidrv6()]);

/** A glob: `*` is anything but a slash, `**` is anything. It has to match the whole path. */
const pathSchema = z.string().startsWith("/", "a path begins with /").max(1_024);

/** Those that say how a message is framed or where it goes are nobody's to write. */
const headerNameSchema = z
  .string()
  .regex(/^[A-Za-z0-9-]{1,64}$/, "a header's name")
  .refine(
    (name) =>
      !/^(?:host|connection|content-length|transfer-encoding|upgrade|te|trailer|keep-alive|expect|proxy-.*)$/i.test(
        name,
      ),
    "this header is not a rule's to write",
  );

const SECRET_WORD = /\$\{secrets\.([A-Za-z_][A-Za-z0-9_.-]{0,127})\}/g;

/** How a rule names a secret in what it writes. */
export const secretWord = (name: string): string => `\${secrets.${name}}`;

export function secretsNamedIn(text: string): string[] {
  return [...new Set([...text.matchAll(SECRET_WORD)].map(([, name = ""]) => name))];
}

/** What may be done, in words: reading takes GET, HEAD and OPTIONS. */
export const ACCESSES = ["read-only", "read-write"] as const;

/** How much may be carried each way, as the sandbox sends it, encryption included. Left out: any amount. */
export const byteBudgetSchema = z.strictObject({
  upBytes: z.int().nonnegative().optional(),
  downBytes: z.int().nonnegative().optional(),
});
export type ByteBudget = z.infer<typeof byteBudgetSchema>;

/**
 * Where a sandbox may go. A rule without methods, paths or a query says only where: TLS then stays
 * closed on its way, and only its name is checked. With them, the guard reads every request.
 */
export const egressRuleSchema = z.strictObject({
  /** For logs; `rule-<number>` unless said. */
  id: z
    .string()
    .regex(/^[\w./:-]{1,80}$/, "an id is 1 to 80 letters, digits and ./:-_")
    .optional(),
  /** Of several rules that match, one that denies wins, then one that allows. `ask`: somebody decides each time. */
  effect: z.enum(["allow", "deny", "ask"]).default("allow"),
  host: hostPatternSchema,
  /** 443 for `https`, 80 for `http`; `tcp` has to name its own. */
  ports: z.array(portSchema).min(1).max(64).optional(),
  /** `tcp` is anything at all, unread. */
  protocol: z.enum(["https", "http", "tcp"]).default("https"),
  access: z.enum(ACCESSES).optional(),
  methods: z
    .array(z.string().regex(/^[A-Z]{1,20}$/, "a method in capitals"))
    .min(1)
    .max(20)
    .optional(),
  paths: z.array(pathSchema).min(1).max(64).optional(),
  /** Each of these has to be in the query, with exactly this value. */
  query: z.record(z.string().min(1), z.string()).optional(),
  /** Addresses inside a network that this host may have. Loopback and link-local cannot be named. */
  cidrs: z.array(cidrSchema).max(16).optional(),
  /**
   * Programs it is for, by the path of what runs: globs, as paths have them. It tells programs apart,
   * not intents. Whose program cannot be seen is none of them; a rule that denies then denies.
   */
  binaries: z
    .array(z.string().startsWith("/", "a program's path begins with /").max(1_024))
    .min(1)
    .max(64)
    .optional(),
  /**
   * Written into every request that it allows, instead of what the program wrote. `${secrets.NAME}` is
   * that secret of the sandbox's, through TLS alone.
   */
  headers: z
    .record(headerNameSchema, z.string().regex(/^[\x20-\x7e]{0,8192}$/, "one line of ASCII"))
    .optional(),
  /** Read every request even where nothing of it is limited. */
  inspect: z.boolean().optional(),
  /** For all connections by this rule together, for as long as the sandbox lives. */
  budget: byteBudgetSchema.optional(),
});
export type NetworkRule = z.infer<typeof egressRuleSchema>;

/**
 * What becomes of what no rule speaks of: `enforce` denies it, `ask` has somebody decide each time,
 * `audit` lets it through and writes it down, for learning what a run needs.
 */
export const networkModeSchema = z.enum(["enforce", "ask", "audit"]);

/**
 * What becomes of what looks like somebody's key on its way out, and of bodies that are packed as
 * nobody here can read. With it, every `https` connection is read. `redact` writes stars instead.
 */
const dlpSchema = z.strictObject({
  onMatch: z.enum(["block", "redact", "ask", "log"]).default("block"),
  undecodable: z.enum(["block", "allow"]).default("block"),
});
export type Dlp = z.infer<typeof dlpSchema>;

/**
 * `deny`: there is no way out, and none can be opened later. `guarded`: there is one, through the
 * guard, which opens it for what the rules allow. Without a rule it opens for nothing.
 */
export const networkSchema = z.discriminatedUnion("egress", [
  z.strictObject({ egress: z.literal("deny") }),
  z.strictObject({
    egress: z.literal("guarded"),
    mode: networkModeSchema.default("enforce"),
    rules: z.array(egressRuleSchema).max(500).default([]),
    /** For everything together, for as long as the sandbox lives. */
    budget: byteBudgetSchema.optional(),
    /** What leaves is looked through for credentials of well-known kinds; left out, only for own secrets. */
    dlp: dlpSchema.optional(),
    /**
     * What becomes of an `https` connection that is denied. `explain`, unless said: its TLS is ended with
     * the sandbox's own authority, and its request gets a 403 that says why. `reset`: it breaks off.
     */
    denied: z.enum(["explain", "reset"]).optional(),
    /** Named sets of rules, as in `npm`. */
    sets: z.array(z.string().max(64)).max(64).default([]),
  }),
]);
export type Network = z.infer<typeof networkSchema>;
export type GuardedNetwork = Extract<Network, { egress: "guarded" }>;

/** As it may be written, with what has a default left out. */
export type GuardedNetworkInput = Extract<z.input<typeof networkSchema>, { egress: "guarded" }>;

/** What `PUT /v1/sandboxes/{id}/network` takes: the whole of it, as it shall be from now on. */
export const guardedNetworkSchema = networkSchema.options[1];
