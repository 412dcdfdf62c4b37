/** What a credential of one kind looks like, and nothing else does. */
interface Pattern {
  readonly id: string;
  /** No match without it: most text is never shown to the expression. */
  readonly hint: string;
  readonly form: RegExp;
}

/**
 * Few, and each precise: what is found is stopped, and a false alarm costs somebody's work. Every
 * expression is linear in its input, and none matches more than `LONGEST`.
 */
const PATTERNS: readonly Pattern[] = [
  // Its spaces are written otherwise in forms and queries.
  {
    id: "private-key",
    hint: "-----BEGIN",
    form: /-----BEGIN(?: |\+|%20)(?:[A-Z]{2,10}(?: |\+|%20)){0,2}PRIVATE(?: |\+|%20)KEY-----/g,
  },
  { id: "aws-access-key", hint: "AKIA", form: /\bAKIA[A-Z2-7]{16}\b/g },
  { id: "anthropic-key", hint: "sk-ant-", form: /\bsk-ant-[a-z]{3}\d{2}-[\w-]{80,120}\b/g },
  { id: "openai-key", hint: "sk-", form: /\bsk-(?:proj|svcacct|admin)-[\w-]{40,200}\b/g },
  { id: "github-token", hint: "gh", form: /\bgh[pousr]_[A-Za-z0-9]{36}\b/g },
  { id: "github-fine-grained-token", hint: "github_pat_", form: /\bgithub_pat_\w{82}\b/g },
  { id: "gitlab-token", hint: "glpat-", form: /\bglpat-[\w-]{20}\b/g },
  { id: "slack-token", hint: "xox", form: /\bxox[abprs]-\d{8,14}-[\w-]{20,180}\b/g },
  { id: "google-api-key", hint: "AIza", form: /\bAIza[\w-]{35}\b/g },
  { id: "stripe-live-key", hint: "k_live_", form: /\b[rs]k_live_[0-9A-Za-z]{24,99}\b/g },
  { id: "npm-token", hint: "npm_", form: /\bnpm_[A-Za-z0-9]{36}\b/g },
  { id: "pypi-token", hint: "pypi-AgEI", form: /\bpypi-AgEI[\w-]{60,300}\b/g },
  { id: "huggingface-token", hint: "hf_", form: /\bhf_[A-Za-z]{34}\b/g },
  { id: "sendgrid-key", hint: "SG.", form: /\bSG\.[\w-]{22}\.[\w-]{43}\b/g },
  { id: "shopify-token", hint: "shp", form: /\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}\b/g },
  { id: "digitalocean-token", hint: "do", form: /\bdo[por]_v1_[0-9a-f]{64}\b/g },
];

export const LONGEST = 512;

export interface Match {
  readonly pattern: string;
  readonly at: number;
  readonly length: number;
}

/** In order of where they begin. */
export function findPatterns(text: string): Match[] {
  return PATTERNS.flatMap(({ id, hint, form }) =>
    text.includes(hint)
      ? [...text.matchAll(form)].map(({ index, 0: { length } }) => ({ pattern: id, at: index, length }))
      : [],
  ).sort((a, b) => a.at - b.at);
}
