import { createPrivateKey, type JsonWebKey, sign } from "node:crypto";
import { CURVES, type CurveName, coded, fingerprintOf, padded, pointOf, RSA_HASHES } from "./public-key.ts";
import { integer, Malformed, Reader, string } from "./wire.ts";

/** A key that signs. What it is made of does not leave this file. */
export interface SigningKey {
  /** The public half, as SSH writes it. */
  readonly blob: Buffer;
  readonly type: string;
  readonly fingerprint: string;
  /** By an algorithm of its kind, as SSH writes signatures. */
  sign(algorithm: string, data: Buffer): Buffer;
}

const MAGIC = Buffer.from("openssh-key-v1\0", "latin1");

/** As `ssh-keygen` writes them, without a passphrase. */
export function parsePrivateKey(pem: string): SigningKey {
  const body = /^-----BEGIN OPENSSH PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END/.exec(pem.trim())?.[1];
  const bytes = Buffer.from(body ?? "", "base64");
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) throw new Malformed("this is no key of OpenSSH's");
  const outer = new Reader(bytes.subarray(MAGIC.length));
  const [cipher, kdf] = [outer.text(), outer.text()];
  outer.string();
  if (cipher !== "none" || kdf !== "none" || outer.number() !== 1) {
    throw new Malformed("a key that has a passphrase");
  }
  const blob = outer.string();
  const inner = new Reader(outer.string());
  const [check, again] = [inner.number(), inner.number()];
  if (check !== again) throw new Malformed("a broken key");
  const type = inner.text();
  const key = createPrivateKey({ key: privatePart(type, inner), format: "jwk" });
  return {
    blob,
    type,
    fingerprint: fingerprintOf(blob),
    sign(algorithm, data) {
      if (type === "ssh-ed25519" && algorithm === type) return written(type, sign(null, data, key));
      const hash = RSA_HASHES[algorithm];
      if (type === "ssh-rsa" && hash) return written(algorithm, sign(hash, data, key));
      const curve = CURVES[type.replace("ecdsa-sha2-", "") as CurveName];
      if (!curve || algorithm !== type) throw new Malformed(`a signature by ${algorithm.slice(0, 40)}`);
      const plain = sign(curve.hash, data, { key, dsaEncoding: "ieee-p1363" });
      const [r, s] = [plain.subarray(0, curve.bytes), plain.subarray(curve.bytes)];
      return written(type, Buffer.concat([integer(r), integer(s)]));
    },
  };
}

const written = (algorithm: string, signature: Buffer): Buffer =>
  Buffer.concat([string(algorithm), string(signature)]);

function privatePart(type: string, reader: Reader): JsonWebKey {
  if (type === "ssh-ed25519") {
    const x = coded(reader.string());
    return { kty: "OKP", crv: "Ed25519", x, d: coded(reader.string().subarray(0, 32)) };
  }
  if (type === "ssh-rsa") return rsaPart(reader);
  const curve = CURVES[type.replace("ecdsa-sha2-", "") as CurveName];
  if (!curve) throw new Malformed(`a key of the kind ${type.slice(0, 40)}`);
  reader.string();
  const point = pointOf(reader.string(), curve.bytes);
  return { kty: "EC", crv: curve.crv, ...point, d: coded(padded(reader.integer(), curve.bytes)) };
}

/** SSH leaves out two numbers that others want and that follow from the rest. */
function rsaPart(reader: Reader): JsonWebKey {
  const [n, e, d, qi, p, q] = Array.from({ length: 6 }, () => reader.integer()) as [
    ...[Buffer, Buffer, Buffer, Buffer, Buffer, Buffer],
  ];
  const whole = BigInt(`0x${d.toString("hex")}`);
  const less = (prime: Buffer): string => {
    const rest = (whole % (BigInt(`0x${prime.toString("hex")}`) - 1n)).toString(16);
    return coded(Buffer.from(rest.length % 2 === 0 ? rest : `0${rest}`, "hex"));
  };
  const own = { n: coded(n), e: coded(e), d: coded(d), p: coded(p), q: coded(q), qi: coded(qi) };
  return { kty: "RSA", ...own, dp: less(p), dq: less(q) };
}
