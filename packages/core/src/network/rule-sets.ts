import type { NetworkRule } from "@sandboxer/contract";

type Rule = Partial<NetworkRule> & { readonly host: string };

/**
 * Rules for common needs, by name. Reading only, wherever a service can tell: what may be written
 * to is what data leaves by. Each is a decision about somebody else's hosts, so each says why.
 */
const SETS: Readonly<Record<string, { readonly why: string; readonly rules: readonly Rule[] }>> = {
  npm: {
    why: "packages of the npm registry",
    rules: [{ host: "npm.example.com", access: "read-only" }],
  },
  pypi: {
    why: "packages of the Python index",
    rules: [
      { host: "pypi.example.com", access: "read-only" },
      { host: "files.example.com", access: "read-only" },
    ],
  },
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
  debian: {
    why: "Debian's packages; signed, so some mirrors speak plain HTTP",
    rules: ["deb.example.com", "security.example.com"].flatMap((host): Rule[] => [
      { host, access: "read-only" },
      { host, protocol: "http", access: "read-only" },
    ]),
  },
  crates: {
    why: "crates.example.com: the index and the archives",
    rules: [
      { host: "index.example.com", access: "read-only" },
      { host: "static.example.com", access: "read-only" },
      { host: "crates.example.com", access: "read-only", paths: ["/api/v1/crates/**"] },
    ],
  },
  go: {
    why: "Go's module proxy and checksums",
    rules: [
      { host: "proxy.example.com", access: "read-only" },
      { host: "sum.example.com", access: "read-only" },
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
};

/** What a capability means: sets of sets. */
const CAPABILITIES: Readonly<Record<string, readonly string[]>> = {
  none: [],
  packages: ["npm", "pypi", "debian", "crates", "go"],
  code: ["github-read"],
  models: ["anthropic", "openai", "gemini"],
};

export const RULE_SET_NAMES: readonly string[] = [...Object.keys(SETS), ...Object.keys(CAPABILITIES)];

/** The sets a name stands for: itself, or those of a capability. `undefined` where there is no such name. */
export function setsOf(name: string): readonly string[] | undefined {
  if (Object.hasOwn(CAPABILITIES, name)) return CAPABILITIES[name];
  return Object.hasOwn(SETS, name) ? [name] : undefined;
}

export function rulesOfSet(name: string): NetworkRule[] {
  const rules = SETS[name]?.rules ?? [];
  return rules.map((rule, index) => ({
    effect: "allow",
    protocol: "https",
    ...rule,
    id: `${name}/${index + 1}`,
  }));
}
