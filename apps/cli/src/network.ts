import type { GuardedNetworkInput, NetworkRule } from "@sandboxer/contract";
import { InvalidArgumentError } from "commander";

type Rule = NonNullable<GuardedNetworkInput["rules"]>[number];

export interface NetworkOptions {
  readonly allow?: Rule[];
  readonly rules?: string[];
  readonly learn?: true;
  readonly ask?: true;
}

/** `api.example.com`, `*.example.com:8443`, `http://host`, `tcp://host:5432`. Given again, it adds. */
export function allowance(text: string, before: readonly Rule[] = []): Rule[] {
  const [, protocol = "https", host = "", port] =
    /^(?:(https|http|tcp):\/\/)?([^\s:/]+)(?::(\d{1,5}))?\/?$/.exec(text) ?? [];
  if (host === "")
    throw new InvalidArgumentError("Give a host such as api.example.com or tcp://db.dev:5432.");
  if (protocol === "tcp" && port === undefined) throw new InvalidArgumentError("tcp:// names its port.");
  const rule: Rule = { host, protocol: protocol as NetworkRule["protocol"] };
  return [...before, { ...rule, ...(port !== undefined && { ports: [Number(port)] }) }];
}

/** Only what was said: without a word about it, there is no way out. */
export function networkOf({ allow, rules, learn, ask }: NetworkOptions): { network?: GuardedNetworkInput } {
  if (!allow && !rules && !learn && !ask) return {};
  return {
    network: {
      egress: "guarded",
      ...(allow && { rules: allow }),
      ...(rules && { sets: rules }),
      ...(learn && { mode: "audit" }),
      ...(ask && { mode: "ask" }),
    },
  };
}
