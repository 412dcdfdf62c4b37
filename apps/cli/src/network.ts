import type { GuardedNetworkInput, NetworkRule } from "@sandboxer/contract";
import { InvalidArgumentError } from "commander";

type Rule = NonNullable<GuardedNetworkInput["rules"]>[number];

export interface NetworkOptions {
  readonly allow?: Rule[];
  readonly rules?: string[];
  readonly learn?: true;
  readonly ask?: true;
}

const SPELLING =
  /^(?:([A-Z,]+) )?(?:(https|http|tcp):\/\/)?(\[[0-9a-fA-F:.]+\]|[^\s:/@]+)(?::(\d{1,5}))?(\/[^\s@]*)?(?:@([0-9a-fA-F:.]+\/\d{1,3}))?$/;

/**
 * `api.example.com`, `*.example.com:8443`, `http://host`, `tcp://host:5432`; more narrowly
 * `GET,HEAD api.example.com/v1/**`; with the network it may be in, `lan.dev@10.1.2.3/32`. Given again, it adds.
 */
export function allowance(text: string, before: readonly Rule[] = []): Rule[] {
  const [, methods, protocol = "https", host = "", port, path = "/", cidr] = SPELLING.exec(text) ?? [];
  if (host === "")
    throw new InvalidArgumentError(
      "Give a host such as api.example.com, tcp://db.dev:5432 or 'GET api.example.com/v1/**'.",
    );
  if (protocol === "tcp" && port === undefined) throw new InvalidArgumentError("tcp:// names its port.");
  const rule: Rule = {
    host: host.replace(/^\[|\]$/g, ""),
    protocol: protocol as NetworkRule["protocol"],
    ...(port !== undefined && { ports: [Number(port)] }),
    ...(methods !== undefined && { methods: methods.split(",") }),
    ...(path !== "/" && { paths: [path] }),
    ...(cidr !== undefined && { cidrs: [cidr] }),
  };
  return [...before, rule];
}

/** The rule as `--allow` takes it; once for each network that it names. */
export function spellAllowance({ host, protocol, ports, methods, cidrs }: NetworkRule): string[] {
  return (cidrs ?? [""]).map((cidr) => {
    const words = [
      methods ? `${methods.join(",")} ` : "",
      protocol === "https" ? "" : `${protocol}://`,
      host.includes(":") ? `[${host}]` : host,
      ports ? `:${ports[0]}` : "",
      cidr && `@${cidr}`,
    ].join("");
    return /[^\w.:/@,-]/.test(words) ? `'${words}'` : words;
  });
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
