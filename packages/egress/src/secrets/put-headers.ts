import { secretsNamedIn, secretWord } from "@sandboxer/contract";
import type { Ward } from "../guard/ward.ts";
import { bad, type Head, namedByConnection } from "../http/head.ts";
import { rulesFor } from "../policy/compile.ts";
import { type AskedRequest, matches } from "../policy/decide.ts";
import { Refused } from "./stopped.ts";

/**
 * What rules write into a request themselves, in the place of what the program wrote. A secret in it
 * is its placeholder here: whether that may stand there is the gate's to say, as of any other.
 */
export function putHeaders(
  { policy, book }: Pick<Ward, "policy" | "book">,
  asked: AskedRequest,
  head: Head,
): Head {
  const rules = rulesFor(policy, asked.host, asked.port).filter(
    (rule) => rule.effect === "allow" && rule.headers && matches(rule, asked),
  );
  if (rules.length === 0) return head;
  const put = new Map<string, readonly [string, string]>();
  for (const { headers = {} } of rules) {
    for (const [name, text] of Object.entries(headers)) put.set(name.toLowerCase(), [name, filled(text)]);
  }
  // What a connection header names does not go out, and neither would what the rule writes.
  if (namedByConnection(head).some((name) => put.has(name))) bad("a connection header that hides others");
  const kept = head.headers.filter(([name]) => !put.has(name.toLowerCase()));
  return {
    ...head,
    headers: [...kept, ...[...put.values()].map(([name, text]) => [name, text] as [string, string])],
  };

  function filled(text: string): string {
    return secretsNamedIn(text).reduce((rest, name) => {
      const secret = book.secrets.find((one) => one.name === name);
      if (!secret) throw new Refused(`the secret ${name} is not this sandbox's`);
      return rest.replaceAll(secretWord(name), secret.placeholder);
    }, text);
  }
}
