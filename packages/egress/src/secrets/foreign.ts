import { type Head, valuesOf } from "../http/head.ts";
import type { Target } from "../policy/path.ts";
import { basicOf, decoded, refuseLosses } from "./head.ts";
import { FOREIGN } from "./mark.ts";

/** The head of a request of whoever has no secret: one look at all of it. */
export function refuseForeign({ path, query }: Target, head: Head): void {
  const plain = valuesOf(head, "authorization").map((value) => basicOf(value)?.plain ?? "");
  refuseLosses({ losses: FOREIGN }, [head.headers.flat(), plain].flat().join("\n"), "header");
  refuseLosses({ losses: FOREIGN }, path, "path");
  if (query !== "") refuseLosses({ losses: FOREIGN }, `${query}\n${decoded(query)}`, "query");
}
