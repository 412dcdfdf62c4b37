import { type CreateBody, SandboxerError } from "@sandboxer/contract";
import { z } from "zod";
import { isNote, labelsFor } from "../labels.ts";
import { retentionFor } from "../timeouts.ts";
import { egressFor, egressSchema, secretsIn } from "./egress.ts";
import { may } from "./may.ts";
import type { Call } from "./route.ts";
import { templateFor } from "./templates-known.ts";

const LONGEST_TIMEOUT_S = 86_400;
export const timeoutSchema = z.int().min(0).max(LONGEST_TIMEOUT_S, "Timeout cannot be greater than 24 hours");

const NOT_HERE = z.null("this gateway does not have that").optional();

/** What E2B's create takes. What is new to us is let through: clients send more every month. */
export const newSandboxSchema = z.object({
  templateID: z.string().min(1).max(128),
  timeout: timeoutSchema.optional(),
  metadata: z.record(z.string(), z.string()).nullish(),
  envVars: z.record(z.string(), z.string()).nullish(),
  autoPause: z.boolean().optional(),
  autoPauseMemory: z.boolean().optional(),
  autoResume: z.object({ enabled: z.boolean() }).nullish(),
  allow_internet_access: z.boolean().nullish(),
  network: egressSchema
    .extend({ allowPublicTraffic: z.boolean().nullish(), maskRequestHost: z.string().max(255).nullish() })
    .nullish(),
  volumeMounts: z
    .array(z.object({ name: z.string(), path: z.string() }))
    .max(16)
    .nullish(),
  iam: NOT_HERE,
});
export type NewSandbox = z.output<typeof newSandboxSchema>;

/** The same in the house's words. */
export async function bodyFor(
  { core, desk, principal }: Pick<Call<unknown>, "core" | "desk" | "principal">,
  asked: NewSandbox,
  defaultTimeoutS: number,
): Promise<{ readonly body: CreateBody; readonly isStarted: boolean }> {
  const timeoutMs = Math.max(1, asked.timeout ?? defaultTimeoutS) * 1_000;
  const metadata = asked.metadata ?? {};
  const ours = Object.keys(metadata).find(isNote);
  if (ours) throw new SandboxerError("invalid_request", `metadata: ${ours} is this gateway's own`);
  refuseMemoryless(asked);
  if (asked.autoPause) await may({ core, principal }, "sandbox.pause");
  const internet = asked.allow_internet_access ?? undefined;
  const network = egressFor(asked.network ?? {}, internet ?? true, desk.internet);
  const secrets = secretsIn(network);
  const wanted = { hasNetwork: network !== undefined, hasSecrets: secrets.length > 0 };
  const template = await templateFor(core, principal, asked.templateID, wanted, desk.tags);
  const { maximumTtlMs, isStarted } = template;
  const retentionMs = asked.autoPause ? await retentionFor(core, principal, timeoutMs, maximumTtlMs) : 0;
  const body: CreateBody = {
    ...template.body,
    ...(network && { network }),
    ...(secrets.length > 0 && { secrets }),
    ...(asked.volumeMounts?.length && {
      volumes: asked.volumeMounts.map(({ name, path }) => ({ volume: name, target: path })),
    }),
    ttlMs: timeoutMs + retentionMs,
    // Where nothing can sleep, what is to sleep at its end is not made.
    ...(asked.autoPause && { facets: ["pause"] }),
    env: asked.envVars ?? {},
    labels: labelsFor(metadata, {
      template: asked.templateID,
      ...(asked.autoPause && { "on-timeout": asked.autoPauseMemory === false ? "stop" : "pause" }),
      ...(asked.autoResume?.enabled && { "auto-resume": "true" }),
      ...(retentionMs > 0 && { "retention-ms": String(retentionMs) }),
      ...(asked.network?.allowPublicTraffic === false && { public: "false" }),
      ...(asked.network?.maskRequestHost && { "mask-host": asked.network.maskRequestHost }),
      ...(internet !== undefined && { internet: `${internet}` }),
    }),
  };
  return { body, isStarted };
}

/** What sleeps without its memory cannot be woken by traffic. */
function refuseMemoryless({ autoPause, autoPauseMemory, autoResume }: NewSandbox): void {
  if (autoPauseMemory !== false) return;
  const refusal = !autoPause
    ? "autoPauseMemory=false only applies when autoPause is true"
    : autoResume?.enabled &&
      "autoPauseMemory=false cannot be combined with autoResume: such a sandbox must be resumed explicitly";
  if (refusal) throw new SandboxerError("invalid_request", refusal);
}
