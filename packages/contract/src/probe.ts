import { z } from "zod";

/** One thing this host gives or lacks: a line of `doctor`. */
const finding = {
  /** Stable, as in `local.userns`. */
  id: z.string(),
  message: z.string(),
};
/** What is not as it should be comes with what to do about it. */
const findingSchema = z.discriminatedUnion("ok", [
  z.strictObject({ ...finding, ok: z.literal(true) }),
  z.strictObject({ ...finding, ok: z.literal(false), fix: z.string().min(1) }),
]);
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
