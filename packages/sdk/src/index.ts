export type { RoutePlan } from "./answers.ts";
export { type Client, type ClientOptions, createClient, type ListOptions, type Page } from "./client.ts";
export type { GatewayError } from "./failure.ts";
export type { RemoteProcess } from "./process.ts";
export type { RunOptions, Sandbox } from "./sandbox.ts";
export type { Fetch } from "./transport.ts";
