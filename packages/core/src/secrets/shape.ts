import { PLACEHOLDER_MARK } from "@sandboxer/contract";

/** How a secret looks, without what it is: enough for a placeholder that programs take for one. */
export interface Shape {
  /** What every such secret begins with, and everybody knows. */
  readonly prefix: string;
  readonly alphabet: "hex" | "upper" | "mixed";
  /** Of the part after the prefix. */
  readonly length: number;
}

/** The longest that fits is taken. */
const PREFIXES = [
  ...["sk-ant-api03-", "sk-ant-", "sk-proj-", "sk-", "sk_live_", "sk_test_", "rk_live_", "AIza", "hf_"],
  ...["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "npm_", "pypi-", "dop_v1_"],
  ...["xoxb-", "xoxp-", "xapp-", "AKIA", "ASIA", "SG.", "gsk_", "r8_", "nvapi-", "tvly-", "whsec_"],
];
const ALPHABETS = {
  hex: "0123456789abcdef",
  upper: "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
  mixed: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
} as const;
/** Below, somebody could hit upon one by chance, or by trying. */
const LEAST_RANDOM = 20;
const LEAST_LENGTH = PLACEHOLDER_MARK.length + LEAST_RANDOM;
const MOST_LENGTH = 256;

export function shapeOf(value: string): Shape {
  const [prefix = ""] = PREFIXES.filter((one) => value.startsWith(one)).sort((a, b) => b.length - a.length);
  const rest = value.slice(prefix.length);
  const alphabet = /^[0-9a-f]+$/.test(rest) ? "hex" : /^[A-Z2-7]+$/.test(rest) ? "upper" : "mixed";
  return { prefix, alphabet, length: Math.min(Math.max(rest.length, LEAST_LENGTH), MOST_LENGTH) };
}

const randomIn = ({ length }: Shape): number => Math.max(length - PLACEHOLDER_MARK.length, LEAST_RANDOM);

/** How many bytes a placeholder of this shape is drawn from. */
export const bytesFor = (shape: Shape): number => randomIn(shape) * 2;

/** Two bytes a character keep what is left of the bias far below what could be noticed. */
export function placeholderOf(shape: Shape, bytes: Uint8Array): string {
  const letters = ALPHABETS[shape.alphabet];
  const drawn = Array.from({ length: randomIn(shape) }, (_, at) => {
    const number = ((bytes[at * 2] ?? 0) << 8) | (bytes[at * 2 + 1] ?? 0);
    return letters[number % letters.length];
  });
  return shape.prefix + PLACEHOLDER_MARK + drawn.join("");
}
