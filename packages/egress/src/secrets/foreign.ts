import { PLACEHOLDER_MARK } from "@sandboxer/contract";
import { type Head, valuesOf } from "../http/head.ts";
import type { Target } from "../policy/path.ts";
import type { Loss } from "./book.ts";
import { formsOf } from "./forms.ts";
import { basicOf, decoded, refuseLosses } from "./head.ts";
import type { Needle } from "./scan.ts";

/**
 * What every placeholder has in it, in each of its forms. A sandbox's own are looked for as a whole, and
 * begin no later: so what is found by this is another's, whoever that is and whether or not it still lives.
 */
export const FOREIGN: readonly Needle<Loss>[] = formsOf(PLACEHOLDER_MARK).map(({ bytes }) => ({
  bytes,
  means: { secret: "", what: "foreign" },
}));

/** The head of a request of whoever has no secret: one look at all of it. */
export function refuseForeign({ path, query }: Target, head: Head): void {
  const plain = valuesOf(head, "authorization").map((value) => basicOf(value)?.plain ?? "");
  refuseLosses({ losses: FOREIGN }, [head.headers.flat(), plain].flat().join("\n"), "header");
  refuseLosses({ losses: FOREIGN }, path, "path");
  if (query !== "") refuseLosses({ losses: FOREIGN }, `${query}\n${decoded(query)}`, "query");
}
