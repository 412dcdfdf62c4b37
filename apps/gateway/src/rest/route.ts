import type { Operation, Principal } from "@sandboxer/contract";
import type { Core, Once } from "@sandboxer/core";
import type { z } from "zod";
import type { Body } from "../exchange.ts";
import type { LiveConnections } from "../live-connections.ts";
import type { LiveProcesses } from "../live-processes.ts";
import type { Limits } from "../observe/limits.ts";
import type { Meters } from "../observe/meters.ts";
import type { PreviewPlace } from "../previews/address.ts";
import type { Report } from "./failure.ts";

/** What an answer is made of. OpenAPI and the authorization matrix are read from here. */
export type Answer =
  | { readonly type: "json"; readonly status: 200 | 201; readonly schema: z.ZodType }
  | { readonly type: "ndjson"; readonly schema: z.ZodType }
  | { readonly type: "sse"; readonly schema: z.ZodType }
  | { readonly type: "bytes" }
  | { readonly type: "text"; readonly contentType: string; readonly description: string };

/** What a handler gives: a value for `json`, a body (with headers of its own) for the others. */
export type Given = {
  readonly body: Body;
  readonly headers?: Record<string, string>;
};

/** `key`: any valid key, whatever it may do. `public`: no key at all. */
export type Demand = Operation | "key" | "public";

/** What handlers work with. */
export interface Ground {
  readonly core: Core;
  readonly processes: LiveProcesses;
  readonly connections: LiveConnections;
  readonly previews: {
    readonly place: PreviewPlace;
    /** Where this gateway listens; nowhere when it is only for its own process. */
    url?: string;
  };
  readonly meters: Meters;
  /** Where others can ask: a gateway for its own process alone has none. */
  readonly limits?: Limits;
  /** Every way in over HTTP. */
  readonly routes: readonly Route[];
}

export interface Call<Params, Query, Body> extends Ground {
  readonly principal: Principal;
  /** The header `Idempotency-Key`, for what creates. */
  readonly once: Once;
  /** The header `Last-Event-ID`, for a reader that comes back. */
  readonly lastEventId: string | undefined;
  /** For what fails once the answer has begun. */
  readonly report: Report;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
}

interface RouteFacts {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** As OpenAPI writes it: `/v1/sandboxes/{id}`. */
  readonly path: string;
  readonly operation: Demand;
  readonly summary: string;
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  /** A schema of JSON, or bytes as they come. */
  readonly body?: z.ZodType | "bytes";
  /** Holds to the header `Idempotency-Key`. */
  readonly idempotent?: true;
  readonly answer: Answer;
}

/** One way in, as data; `handle` is the only part that is not. */
export interface Route extends RouteFacts {
  handle(call: Call<never, never, never>): Promise<unknown>;
}

type Of<T> = T extends z.ZodType ? z.output<T> : T extends "bytes" ? ReadableStream<Uint8Array> : undefined;

/** Gives the handler the types its own schemas promise. */
export function route<const F extends RouteFacts>(
  facts: F,
  handle: (
    call: Call<Of<F["params"]>, Of<F["query"]>, Of<F["body"]>>,
  ) => Promise<F["answer"] extends { type: "json" } ? z.input<F["answer"]["schema"]> : Given>,
): Route {
  return { ...facts, handle: handle as Route["handle"] };
}
