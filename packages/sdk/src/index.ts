export type { Attachments } from "./attachments.ts";
export { type Client, type ClientOptions, createClient, type ListOptions, type Page } from "./client.ts";
export type { Keys } from "./keys.ts";
export type { Log, Webhooks } from "./log.ts";
export type { RemoteProcess } from "./process.ts";
export type { Profiles } from "./profiles.ts";
export type { RunOptions, Sandbox, Way } from "./sandbox.ts";
export type { SocketMaker } from "./sockets.ts";
export type { Fetch, Once } from "./transport.ts";
