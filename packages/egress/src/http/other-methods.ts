import type { AskedRequest, Decision } from "../policy/decide.ts";
import { bad, type Head, valuesOf } from "./head.ts";

/** By these some services take another method than the one a request begins with. */
const HEADERS = ["x-http-method-override", "x-http-method", "x-method-override"];
const METHOD = /^[A-Z]{1,20}$/;

/** A request that names another method has to be allowed as both: which of them is meant is the far side's to say. */
export function judgeByEveryMethod(
  decide: (asked: AskedRequest) => Decision,
  asked: AskedRequest,
  head: Head,
): Decision {
  for (const said of HEADERS.flatMap((name) => valuesOf(head, name))) {
    const method = said.toUpperCase();
    if (!METHOD.test(method)) bad("a method that is none");
    if (method === asked.method) continue;
    const other = decide({ ...asked, method });
    if (other.verdict === "denied") return other;
    // Whoever is asked sees one method.
    if (other.verdict === "asked")
      return {
        verdict: "denied",
        reason: `a header names the method ${method}, which has to be asked for by itself`,
      };
  }
  return decide(asked);
}
