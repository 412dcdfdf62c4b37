import type { SecretBinding } from "@sandboxer/contract";

/** Shaped like a model's key; it opens nothing anywhere. */
export const KEY = "sk-ant-api03-Zq9wXkLmNoP0aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789abcd-AA";

/** The one cell that it belongs into. */
export const MODEL: SecretBinding = {
  host: "model.test",
  ports: [443],
  paths: ["/v1/**"],
  place: { in: "header", name: "x-api-key" },
};

/** In which of the usual ways a text holds a secret. */
export function holds(text: string, secret: string): string[] {
  const plain = Buffer.from(secret);
  const middle = (offset: number) =>
    Buffer.concat([Buffer.alloc(offset), plain])
      .toString("base64")
      .slice(offset === 0 ? 0 : 4, -4);
  const forms: Record<string, string> = {
    raw: secret,
    url: encodeURIComponent(secret),
    hex: plain.toString("hex"),
    utf16: plain.toString("latin1").split("").join("\0"),
    base64: middle(0),
    "base64+1": middle(1),
    "base64+2": middle(2),
  };
  return Object.keys(forms).filter((form) => text.includes(forms[form] as string));
}
