import type { Box } from "@sandboxer/contract";

/** What a sandbox with a way out trusts: what its image trusts, and its own authority at the guard. */
const BUNDLE = "/etc/sandboxer/ca.pem";

const OF_IMAGES = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/cert.pem",
];

/** How the common toolchains are told. Whoever sets one of these for a sandbox is left alone. */
export const TRUST_VARIABLES: Readonly<Record<string, string>> = Object.fromEntries(
  [
    ["SSL_CERT_FILE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "REQUESTS_CA_BUNDLE", "PIP_CERT"],
    ["NODE_EXTRA_CA_CERTS", "AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO", "DENO_CERT", "NIX_SSL_CERT_FILE"],
    ["CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE", "NPM_CONFIG_CAFILE"],
  ].flatMap((names) => names.map((name) => [name, BUNDLE])),
);

/** Written by the sandbox's root where it has one, so that programs inside cannot widen it. */
export async function installTrust({ files }: Box, certificate: string): Promise<void> {
  const own = await imageBundle(files);
  const bytes = new TextEncoder().encode(`${own.trimEnd()}\n${certificate}`);
  const write = (user?: string) =>
    files.write(BUNDLE, [bytes], { parents: true, mode: 0o644, ...(user && { user }) });
  await write("root").catch(() => write());
}

async function imageBundle(files: Box["files"]): Promise<string> {
  for (const path of OF_IMAGES) {
    const text = await readAtMost(files, path).catch(() => undefined);
    if (text) return text;
  }
  // Loaded by need: to read Node's own list takes longer than most short commands.
  const { rootCertificates } = await import("node:tls");
  return rootCertificates.join("\n");
}

/** An image can be as hostile as what runs in it. */
const MOST_BYTES = 4 * 2 ** 20;

async function readAtMost(files: Box["files"], path: string): Promise<string | undefined> {
  const { size, data } = await files.read(path);
  if (size > MOST_BYTES) return undefined;
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of data) {
    bytes += part.length;
    if (bytes > MOST_BYTES) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts).toString("latin1");
}
