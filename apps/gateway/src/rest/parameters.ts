import { nameSchema, portSchema, rowIdSchema } from "@sandboxer/contract";
import { z } from "zod";

/** Query values are text. They are read strictly: `1e3`, ` 5` and `0x10` are not numbers here. */
export const count = z
  .string()
  .regex(/^\d{1,15}$/, "a whole number")
  .transform(Number);

export const flag = z.enum(["0", "1", "false", "true"]).transform((text) => text === "1" || text === "true");

/** As `chmod` takes it. */
export const octalMode = z
  .string()
  .regex(/^[0-7]{3,4}$/, "permission bits in octal, as in 0644")
  .transform((text) => Number.parseInt(text, 8));

export const path = z
  .string()
  .min(1)
  .max(4096)
  .regex(/^[^\0]*$/, "no NUL");

export const user = z.string().max(64).optional();

/** An id has the form of a name, so one schema holds both. */
export const sandboxParams = z.strictObject({ id: nameSchema });

/** By id, by the beginning of one, or by name. */
export const keyParams = z.strictObject({
  key: z.union([rowIdSchema, z.string().regex(/^key_[a-z0-9]{4,19}$/), nameSchema]),
});

const port = z
  .string()
  .regex(/^[1-9]\d{0,4}$/, "a port from 1 to 65535")
  .transform(Number)
  .pipe(portSchema);

export const portParams = z.strictObject({ id: nameSchema, port });

export const connectionParams = z.strictObject({ id: nameSchema, port, connection: rowIdSchema });

export const processParams = z.strictObject({
  id: nameSchema,
  process: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, "a process id as `exec` gave it"),
});
