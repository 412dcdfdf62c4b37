import { expect, it } from "vitest";
import { findPatterns } from "./patterns.ts";
import { sift } from "./sift.ts";

const letters = (count: number) => "aB3".repeat(count).slice(0, count);
/** Made up here; none of them was ever anybody's. */
const TOKENS: Record<string, string> = {
  "private-key": `-----BEGIN ${"OPENSSH"} PRIVATE KEY-----`,
  "aws-access-key": `AKIA${"Q2".repeat(8)}`,
  "anthropic-key": `sk-ant-api03-${letters(93)}`,
  "openai-key": `sk-proj-${letters(48)}`,
  "github-token": `ghp_${letters(36)}`,
  "github-fine-grained-token": `github_pat_${letters(82)}`,
  "gitlab-token": `glpat-${letters(20)}`,
  "slack-token": `xoxb-1234567890-${letters(30)}`,
  "google-api-key": `AIza${letters(35)}`,
  "stripe-live-key": `sk_live_${letters(24)}`,
  "npm-token": `npm_${letters(36)}`,
  "pypi-token": `pypi-AgEI${letters(80)}`,
  "huggingface-token": `hf_${"aB".repeat(17)}`,
  "sendgrid-key": `SG.${letters(22)}.${letters(43)}`,
  "shopify-token": `shpat_${"0a".repeat(16)}`,
  "digitalocean-token": `dop_v1_${"0a".repeat(32)}`,
};

async function* cut(bytes: Buffer, ...at: number[]): AsyncGenerator<Buffer> {
  let from = 0;
  for (const end of [...at, bytes.length]) {
    yield bytes.subarray(from, end);
    from = end;
  }
}

it.each(Object.entries(TOKENS))("EG-18 finds a %s at every cut", async (id, token) => {
  const bytes = Buffer.from(`{"note": "before ${token} after", "more": "${"x".repeat(600)}"}`);
  for (let at = 0; at <= bytes.length; at += at < 200 ? 1 : 97) {
    const found: string[] = [];
    const parts: Buffer[] = [];
    const mask = async (pattern: string) => {
      found.push(pattern);
      return "mask" as const;
    };
    for await (const part of sift(cut(bytes, at), mask)) parts.push(part);
    expect(found, `cut at ${at}`).toEqual([id]);
    expect(Buffer.concat(parts).toString()).toBe(bytes.toString().replace(token, "*".repeat(token.length)));
  }
});

it.each(["+", "%20"])("EG-18 finds a private key as a form or a query writes it: %s", (space) => {
  const begins = ["-----BEGIN", "EC", "PRIVATE", "KEY-----"].join(space);
  expect(findPatterns(`key=${begins}x`).map(({ pattern }) => pattern)).toEqual(["private-key"]);
});

it("takes nothing else for one", () => {
  const innocent = [
    "sk-learn sk-proj-short ghp_short AKIALOWERcase1234567 -----BEGIN PUBLIC KEY-----",
    `commit ${"0123456789abcdef".repeat(2)} AIza-too-short npm_config_registry github_pat_x xoxb-abc`,
    `data:image/png;base64,${Buffer.alloc(3_000, 7).toString("base64")}`,
    `x${TOKENS["github-token"]}y`,
  ];
  for (const text of innocent) expect(findPatterns(text)).toEqual([]);
});
