import type { NetworkRule } from "@sandboxer/contract";
import { PACKAGE_SETS, packageRules } from "./package-hosts.ts";

type Rule = Partial<NetworkRule> & { readonly host: string };

/**
 * Rules for common needs, by name. Reading only, wherever a service can tell: what may be written
 * to is what data leaves by. Each is a decision about somebody else's hosts, so each says why.
 */
const SETS: Readonly<Record<string, { readonly why: string; readonly rules: readonly Rule[] }>> = {
  "github-read": {
    why: "clone, fetch and download; a push needs git-receive-pack, which is not here",
    rules: [
      { host: "github.com", methods: ["GET", "HEAD"] },
      { host: "github.com", methods: ["POST"], paths: ["/*/*/git-upload-pack", "/*/*.git/git-upload-pack"] },
      { host: "github.com", effect: "deny", query: { service: "git-receive-pack" } },
      { host: "api.github.com", access: "read-only" },
      { host: "codeload.github.com", access: "read-only" },
      { host: "raw.githubusercontent.com", access: "read-only" },
      { host: "objects.githubusercontent.com", access: "read-only" },
      { host: "release-assets.githubusercontent.com", access: "read-only" },
    ],
  },
  anthropic: {
    why: "the model API",
    rules: [{ host: "api.anthropic.com", methods: ["GET", "POST"], paths: ["/v1/**"] }],
  },
  openai: {
    why: "the model API",
    rules: [{ host: "api.openai.com", methods: ["GET", "POST"], paths: ["/v1/**"] }],
  },
  gemini: {
    why: "the model API",
    rules: [
      {
        host: "generativelanguage.googleapis.com",
        methods: ["GET", "POST"],
        paths: ["/v1/**", "/v1beta/**"],
      },
    ],
  },
  "search-apis": {
    why: "asking a search engine by its API, which takes a key: the question leaves, and nothing else does",
    rules: [
      { host: "api.search.brave.com", access: "read-only", paths: ["/res/v1/**"] },
      { host: "api.tavily.com", methods: ["POST"], paths: ["/search"] },
      { host: "google.serper.dev", methods: ["POST"], paths: ["/search"] },
      { host: "api.exa.ai", methods: ["POST"], paths: ["/search"] },
    ],
  },
};

/** What a capability means: sets of sets. */
const CAPABILITIES: Readonly<Record<string, readonly string[]>> = {
  none: [],
  packages: PACKAGE_SETS,
  code: ["github-read"],
  models: ["anthropic", "openai", "gemini"],
  "web-search": ["search-apis"],
};

export const RULE_SET_NAMES: readonly string[] = [
  ...PACKAGE_SETS,
  ...Object.keys(SETS),
  ...Object.keys(CAPABILITIES),
];

/** The sets a name stands for: itself, or those of a capability. `undefined` where there is no such name. */
export function setsOf(name: string): readonly string[] | undefined {
  if (Object.hasOwn(CAPABILITIES, name)) return CAPABILITIES[name];
  return RULE_SET_NAMES.includes(name) ? [name] : undefined;
}

export function rulesOfSet(name: string): NetworkRule[] {
  const rules = SETS[name]?.rules ?? packageRules(name);
  return rules.map((rule, index) => ({
    effect: "allow",
    protocol: "https",
    ...rule,
    id: `${name}/${index + 1}`,
  }));
}
