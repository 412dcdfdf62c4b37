export type { GuardOptions } from "./process.ts";
export { createGuard } from "./supervise.ts";
