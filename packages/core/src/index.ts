export type { Core, ListQuery, SandboxPage } from "./core.ts";
export { type CoreOptions, createCore } from "./create-core.ts";
export { firstBrokenSeq } from "./events/chain.ts";
export type { Once } from "./idempotency.ts";
export { createRootKey, enrolRootKey } from "./keys.ts";
export type { Candidate, RoutePlan } from "./route/route.ts";
export { openSqliteStore } from "./store/sqlite/store.ts";
export type { Store } from "./store/store.ts";
export type { WebhookNetwork } from "./webhooks/network.ts";
