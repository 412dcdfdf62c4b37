import { z } from "zod";
import type { AskedCall } from "./approval.ts";
import { byteBudgetSchema, egressRuleSchema, type GuardedNetwork } from "./network.ts";
import { secretBindingSchema } from "./secret.ts";

/** One attempt of a sandbox to get out. */
export const networkCallSchema = z.strictObject({
  /** Counts up within the sandbox. */
  seq: z.int().positive(),
  atMs: z.int(),
  /** As it was asked for, in the one spelling; absent where only an address was. */
  host: z.string().optional(),
  port: z.int(),
  /** What was dialled. */
  address: z.string().optional(),
  /** Whose it is, where its user is told apart. */
  attachmentId: z.string().optional(),
  /** The path of the program that asked, where it can be seen. */
  binary: z.string().optional(),
  via: z.enum(["name", "http-proxy", "socks", "address", "ssh-agent"]),
  method: z.string().optional(),
  path: z.string().optional(),
  /** Of a request that was read: in the clear, or through TLS. */
  scheme: z.enum(["http", "https"]).optional(),
  /** Of a login that was to be signed: by which key, and for which host key. */
  key: z.string().optional(),
  hostKey: z.string().optional(),
  /** `audited`: no rule allows it, and the mode let it through. */
  verdict: z.enum(["allowed", "denied", "audited", "failed"]),
  /** The rule that decided. */
  rule: z.string().optional(),
  reason: z.string().optional(),
  /** Where a rule for its host would not have helped: one that names this network would, or none at all. */
  cure: z.union([z.strictObject({ cidr: z.string() }), z.literal("none")]).optional(),
  status: z.int().optional(),
  upBytes: z.int().optional(),
  downBytes: z.int().optional(),
});
export type NetworkCall = z.infer<typeof networkCallSchema>;

/** What has been carried of what may be. */
export const spentBudgetSchema = z.strictObject({
  /** The rule it is for; absent for everything together. */
  rule: z.string().optional(),
  upBytes: z.int(),
  downBytes: z.int(),
  budget: byteBudgetSchema,
});
export type SpentBudget = z.infer<typeof spentBudgetSchema>;

export const networkCallListSchema = z.strictObject({
  calls: z.array(networkCallSchema),
  /** The rules that would have allowed what was not. */
  proposed: z.array(egressRuleSchema),
  budgets: z.array(spentBudgetSchema),
});
export type NetworkCallList = z.infer<typeof networkCallListSchema>;

/**
 * Who acts in a sandbox, where not everybody may reach what it may. Users with an id of their own are
 * told apart; everybody else is one, and has what all who act as that one have in common.
 */
export const guardedUsersSchema = z.strictObject({
  /** Names, as rights have them. Every list has to allow a connection. */
  shared: z.array(z.array(z.string())),
  /** Names of secrets. Every list has to have one for it to be put in. */
  sharedSecrets: z.array(z.array(z.string())),
  own: z.array(
    z.strictObject({
      uid: z.int(),
      attachmentId: z.string(),
      rules: z.array(z.string()).optional(),
      /** Left out, all that the sandbox has. */
      secrets: z.array(z.string()).optional(),
    }),
  ),
});
export type GuardedUsers = z.infer<typeof guardedUsersSchema>;

/** The other parts of a key that signs, whose id is the secret's placeholder and value. */
const guardedSignerSchema = z.strictObject({
  secret: z.strictObject({ placeholder: z.string(), value: z.string().optional() }),
  /** Keys that do not last have one; inside there is always something that stands for it. */
  token: z.strictObject({ placeholder: z.string(), value: z.string().optional() }),
});

/** A secret as the guard needs it: what is inside, and what goes out in its stead. */
export const guardedSecretSchema = z.strictObject({
  name: z.string(),
  placeholder: z.string(),
  /** Absent where it may not be used any more: its placeholder is then stopped everywhere. */
  value: z.string().optional(),
  signer: guardedSignerSchema.optional(),
  bindings: z.array(secretBindingSchema),
});
export type GuardedSecret = z.infer<typeof guardedSecretSchema>;

/** A key that signs logins, as the guard needs it. */
export const guardedKeySchema = z.strictObject({
  name: z.string(),
  privateKey: z.string(),
  bindings: z.array(
    z.strictObject({
      host: z.string(),
      sign: z.enum(["allow", "ask", "deny"]),
      hostKeys: z.array(z.string()).optional(),
    }),
  ),
});
export type GuardedKey = z.infer<typeof guardedKeySchema>;

/** Where programs inside find the agent that has the keys. */
export const SSH_AGENT_PATH = "/tmp/.sandboxer-ssh-agent";

/** A placeholder, or a secret itself, was about to leave by a way that is not its own. */
export const misuseSchema = z.strictObject({
  atMs: z.int(),
  secret: z.string(),
  /** `foreign`: the placeholder of another sandbox. `pattern`: what looks like somebody's key, by its kind. */
  what: z.enum(["placeholder", "value", "foreign", "pattern"]),
  place: z.enum(["header", "query", "path", "body", "message"]),
  host: z.string(),
  port: z.int(),
  attachmentId: z.string().optional(),
});
export type Misuse = z.infer<typeof misuseSchema>;

export const elevatedSchema = z.strictObject({ rules: z.array(egressRuleSchema), untilMs: z.int() });
export type Elevated = z.infer<typeof elevatedSchema>;

/** What holds for a sandbox, all of it. */
export interface Terms {
  readonly network: GuardedNetwork;
  readonly users: GuardedUsers;
  readonly secrets: readonly GuardedSecret[];
  /** Those that may be used right now. */
  readonly keys: readonly GuardedKey[];
  /** Whether there is an agent inside, with keys or without. */
  readonly hasAgent: boolean;
  /** More rules, each until its time. */
  readonly elevated: readonly Elevated[];
}

/** Watches over the way out of every sandbox that has one. A process of its own. */
export interface Guard {
  /**
   * Resolves when the sandbox's connections are decided by these rules. Until then, and whenever
   * the guard is not there, they are refused. Asked again, the new rules hold.
   */
  protect(sandboxId: string, door: GuardDoor, terms: Terms): Promise<Protected>;
  /** Resolves when the new terms hold. Connections that they do not allow are closed. */
  change(sandboxId: string, terms: Terms): Promise<void>;
  /** Whether it has been asked to protect this one. */
  knows(sandboxId: string): boolean;
  /** For now: what it has used of its budgets is kept for when it is protected again. */
  forget(sandboxId: string): void;
  /** For good. */
  end(sandboxId: string): void;
  /** Of which sandboxes it has anything written down, living or not. */
  kept(): readonly string[];
  /** What a sandbox tried, oldest first, as far as it is still kept. */
  calls(sandboxId: string, afterSeq?: number): NetworkCall[];
  /** How much has been carried where there is a limit. */
  budgets(sandboxId: string): SpentBudget[];
  /** Who is told of each attempt when it is decided, and once more when what it carried is counted. */
  onCall(hear: (sandboxId: string, call: NetworkCall, isNew: boolean) => void): void;
  /** Who is told when a secret is about to be lost. */
  onMisuse(hear: (sandboxId: string, misuse: Misuse) => void): void;
  /** Who decides what rules leave open. Until there is an answer the program waits. */
  onAsk(hear: (ask: GuardAsk) => void): void;
  close(): Promise<void>;
}

export interface GuardAsk {
  readonly sandboxId: string;
  readonly call: AskedCall;
  /** Only the first counts. */
  answer(isAllowed: boolean): void;
  /** Resolves when the program does not wait any more. */
  readonly left: Promise<void>;
}

export interface Protected {
  /** What the sandbox has to trust, for hosts whose requests are read. PEM. */
  readonly certificate: string;
}

/** Where the guard gets hold of a sandbox's way out. */
export interface GuardDoor {
  /** A unix socket of boxd's. */
  readonly socketPath: string;
}
