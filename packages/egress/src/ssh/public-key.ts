import { createHash, createPublicKey, type JsonWebKey, type KeyObject, verify } from "node:crypto";
import { Malformed, Reader } from "./wire.ts";

/** By the name that SSH has for them. */
export const CURVES = {
  nistp256: { crv: "P-256", bytes: 32, hash: "sha256" },
  nistp384: { crv: "P-384", bytes: 48, hash: "sha384" },
  nistp521: { crv: "P-521", bytes: 66, hash: "sha512" },
} as const;
export type CurveName = keyof typeof CURVES;

export const RSA_HASHES: Readonly<Record<string, string>> = {
  "rsa-sha2-256": "sha256",
  "rsa-sha2-512": "sha512",
};

/** As people and `ssh-keygen -l` write it. */
export function fingerprintOf(blob: Buffer): string {
  return `SHA256:${createHash("sha256").update(blob).digest("base64").replace(/=+$/, "")}`;
}

/** Whether the holder of a public key signed this. What is not understood was signed by nobody. */
export function isSignedBy(blob: Buffer, data: Buffer, signature: Buffer): boolean {
  try {
    const reader = new Reader(signature);
    const algorithm = reader.text();
    const signed = reader.string();
    reader.end();
    const { key, type } = publicKeyOf(blob);
    if (type === "ssh-ed25519") return algorithm === type && verify(null, data, key, signed);
    const hash = RSA_HASHES[algorithm];
    if (type === "ssh-rsa") return hash !== undefined && verify(hash, data, key, signed);
    const curve = CURVES[type.replace("ecdsa-sha2-", "") as CurveName];
    if (algorithm !== type || !curve) return false;
    const numbers = new Reader(signed);
    const plain = Buffer.concat([
      padded(numbers.integer(), curve.bytes),
      padded(numbers.integer(), curve.bytes),
    ]);
    return verify(curve.hash, data, { key, dsaEncoding: "ieee-p1363" }, plain);
  } catch {
    return false;
  }
}

function publicKeyOf(blob: Buffer): { key: KeyObject; type: string } {
  const reader = new Reader(blob);
  const type = reader.text();
  const jwk = publicPart(type, reader);
  return { type, key: createPublicKey({ key: jwk, format: "jwk" }) };
}

/** The public part of a key, as it stands after its type. */
export function publicPart(type: string, reader: Reader): JsonWebKey {
  if (type === "ssh-ed25519") return { kty: "OKP", crv: "Ed25519", x: coded(reader.string()) };
  if (type === "ssh-rsa") {
    const e = coded(reader.integer());
    return { kty: "RSA", e, n: coded(reader.integer()) };
  }
  const curve = CURVES[type.replace("ecdsa-sha2-", "") as CurveName];
  if (!curve || `ecdsa-sha2-${reader.text()}` !== type) throw new Malformed(`a key of the kind ${type}`);
  return { kty: "EC", crv: curve.crv, ...pointOf(reader.string(), curve.bytes) };
}

export function pointOf(point: Buffer, bytes: number): { x: string; y: string } {
  if (point[0] !== 4 || point.length !== 1 + 2 * bytes) throw new Malformed("a point that is none");
  return { x: coded(point.subarray(1, 1 + bytes)), y: coded(point.subarray(1 + bytes)) };
}

export const coded = (bytes: Buffer): string => bytes.toString("base64url");

export function padded(bytes: Buffer, length: number): Buffer {
  if (bytes.length > length) throw new Malformed("a number that is too long");
  return Buffer.concat([Buffer.alloc(length - bytes.length), bytes]);
}
