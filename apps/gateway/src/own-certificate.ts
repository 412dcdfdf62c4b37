import { X509Certificate } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { selfSigned } from "@sandboxer/egress/certificate";

const DAY_MS = 86_400_000;
const GOOD_FOR_DAYS = 397;
const RENEWED_BEFORE_DAYS = 30;

export interface OwnCertificate {
  readonly cert: string;
  readonly key: string;
}

/**
 * What this gateway shows to clients that insist on TLS and were told of no other: `tls.pem` is for
 * them to trust, `tls.key` holds both and is its owner's alone. It vouches for itself only.
 */
export function openOwnCertificate(home: string, previewHost: string): OwnCertificate {
  const host = previewHost.replace(/:\d{1,5}$/, "");
  const names = [`*.${host}`, host, "localhost", "127.0.0.1"] as const;
  const kept = read(home);
  if (kept && isGood(kept.cert, names)) return kept;
  const now = Date.now();
  const validity = { from: new Date(now - DAY_MS), to: new Date(now + GOOD_FOR_DAYS * DAY_MS) };
  const made = selfSigned([...names], validity);
  write(join(home, "tls.key"), made.key + made.cert, 0o600);
  write(join(home, "tls.pem"), made.cert, 0o644);
  return made;
}

function read(home: string): OwnCertificate | undefined {
  try {
    const both = readFileSync(join(home, "tls.key"), "utf8");
    const at = both.indexOf("-----BEGIN CERTIFICATE");
    return at < 0 ? undefined : { key: both.slice(0, at), cert: both.slice(at) };
  } catch {
    return undefined;
  }
}

function isGood(pem: string, names: readonly string[]): boolean {
  const certificate = new X509Certificate(pem);
  const leftMs = Date.parse(certificate.validTo) - Date.now();
  const isForAll = names.every((name) => certificate.subjectAltName?.includes(name));
  return isForAll && leftMs > RENEWED_BEFORE_DAYS * DAY_MS;
}

/** Whole or not at all: another gateway may be reading. */
function write(file: string, text: string, mode: number): void {
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, text, { mode });
  renameSync(draft, file);
}
