import { z } from "zod";

/** One thing this host gives or lacks: a line of `doctor`. */
const findingSchema = z.strictObject({
  /** Stable, as in `local.userns`. */
  id: z.string(),
  ok: z.boolean(),
  message: z.string(),
  /** What to do about it, where it is not ok. */
  fix: z.string().optional(),
});
export type Finding = Readonly<z.infer<typeof findingSchema>>;

const findings = z.array(findingSchema).readonly();

/** What of it is known to be unsafe, each in a sentence: used only where the operator says so. */
const unsafe = z.array(z.string()).readonly().optional();

/** Can this extension work here and now? `unavailable` says why not and what would mend it. */
export const probeSchema = z.discriminatedUnion("status", [
  z.strictObject({ status: z.literal("offer"), findings, unsafe }),
  z.strictObject({ status: z.literal("unavailable"), reason: z.string(), fix: z.string(), findings, unsafe }),
]);
export type Probe = Readonly<z.infer<typeof probeSchema>>;

/** What every extension says, by its id. */
export const doctorSchema = z.strictObject({ extensions: z.record(z.string(), probeSchema) });
