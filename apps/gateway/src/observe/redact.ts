/** What opens something, wherever it turns up: our keys, bearer words, webhook secrets, preview tokens. */
const SECRETS = [
  /e2b_[0-9a-f]{16,}/gi,
  /(?<=\bBearer +)[^\s"'\\]+/gi,
  /whsec_[A-Za-z0-9+/=]+/g,
  /eyJrZXkiOi[\w-]+\.[\w-]+/g,
];

/** The last guard, after never writing such things in the first place. */
export function redact(line: string): string {
  return SECRETS.reduce((text, secret) => text.replace(secret, "[redacted]"), line);
}
