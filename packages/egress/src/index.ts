export { reachOf } from "./address.ts";
export type { GuardOptions } from "./process.ts";
export { createGuard } from "./supervise.ts";
