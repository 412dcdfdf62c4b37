export { createGuard, type GuardOptions } from "./supervise.ts";
