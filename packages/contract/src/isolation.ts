import { z } from "zod";

/**
 * From weakest to strongest, whatever the technology; that is named apart, in the manifest.
 * A profile states the minimum it accepts.
 */
export const ISOLATION_CLASSES = ["process", "container", "userspace-kernel", "microvm"] as const;
export const isolationClassSchema = z.enum(ISOLATION_CLASSES);
export type IsolationClass = z.infer<typeof isolationClassSchema>;

export function isAtLeast(offered: IsolationClass, asked: IsolationClass): boolean {
  return ISOLATION_CLASSES.indexOf(offered) >= ISOLATION_CLASSES.indexOf(asked);
}

export function stronger(a: IsolationClass, b: IsolationClass): IsolationClass {
  return isAtLeast(a, b) ? a : b;
}
