import type { Operation, Principal } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";
import type { z } from "zod";
import type { Desk } from "../desk.ts";

export interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Call<Body> {
  readonly core: Core;
  readonly desk: Desk;
  readonly principal: Principal;
  /** What stands in the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly body: Body;
  /** As the caller reached this gateway. */
  readonly origin: string;
}

/** One way in of E2B's control API, as data. */
export interface ControlRoute {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly pattern: RegExp;
  /** As people write it. */
  readonly path: string;
  /** What core asks of the key; told here so that the matrix can look at every route. */
  readonly operation: Operation | "key";
  readonly body?: z.ZodType;
  handle(call: Call<never>): Promise<Answer>;
}

interface Facts<B extends z.ZodType> {
  readonly method: ControlRoute["method"];
  /** `/sandboxes/{id}`; `?/sandboxes` is served with and without `/v2` before it. */
  readonly path: string;
  readonly operation: ControlRoute["operation"];
  readonly body?: B;
}

export function control<B extends z.ZodType>(
  facts: Facts<B>,
  handle: (call: Call<z.output<B>>) => Promise<Answer>,
): ControlRoute {
  const source = facts.path.replace("?/", "(?:/v2)?/").replace(/\{(\w+)\}/g, "(?<$1>[^/]+)");
  return {
    ...facts,
    path: facts.path.replace("?/", "/"),
    pattern: new RegExp(`^${source}$`),
    handle: handle as ControlRoute["handle"],
  };
}
