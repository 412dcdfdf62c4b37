import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from "node:crypto";
import { isIPv4, isIPv6 } from "node:net";
import { bits, explicit, implicit, integer, octets, oid, sequence, setOf, time, utf8, yes } from "./der.ts";

/** What an authority is made of. It exists in memory and nowhere else, and goes with its sandbox. */
export interface AuthorityKeys {
  readonly name: string;
  readonly certificate: string;
  readonly rootKey: string;
  /** All leaves share one key: it never leaves the guard either. */
  readonly leafKey: string;
}

/** Signs leaves for one sandbox. */
export interface Authority {
  /** A certificate for exactly this host. */
  issue(host: string, validity?: Partial<Validity>): { readonly cert: string; readonly key: string };
}

interface Validity {
  readonly from: Date;
  readonly to: Date;
}

const ECDSA_WITH_SHA256 = sequence(oid("1.2.840.10045.4.3.2"));
const DAY_MS = 86_400_000;
/** Clocks inside may be a little behind. */
const BEFORE_MS = 3_600_000;
/** Longer than any sandbox lives. */
const DAYS = 8;

export function newAuthority(name: string): AuthorityKeys {
  const root = newKey();
  const certificate = certify({
    subject: nameOf(name),
    issuer: nameOf(name),
    signer: root,
    publicKey: root,
    validity: validity(),
    extensions: [
      extension("2.5.29.19", sequence(yes()), true),
      extension("2.5.29.15", bits(Buffer.from([0x06]), 1), true),
      extension("2.5.29.14", octets(keyId(root))),
    ],
  });
  return { name, certificate: pemOf(certificate), rootKey: exported(root), leafKey: exported(newKey()) };
}

export function authorityOf({ name, rootKey, leafKey }: AuthorityKeys): Authority {
  const root = createPrivateKey(rootKey);
  const leaf = createPrivateKey(leafKey);
  const rootId = keyId(root);
  return {
    issue(host, given = {}) {
      const certificate = certify({
        subject: sequence(),
        issuer: nameOf(name),
        signer: root,
        publicKey: leaf,
        validity: { ...validity(), ...given },
        extensions: [
          extension("2.5.29.19", sequence(), true),
          extension("2.5.29.15", bits(Buffer.from([0x80]), 7), true),
          extension("2.5.29.37", sequence(oid("1.3.6.1.5.5.7.3.1"))),
          extension("2.5.29.17", sequence(alternativeName(host)), true),
          extension("2.5.29.35", sequence(implicit(0, rootId))),
        ],
      });
      return { cert: pemOf(certificate), key: leafKey };
    },
  };
}

/** A certificate that vouches for itself and for nothing else: whoever trusts it trusts these names. */
export function selfSigned(
  names: readonly [string, ...string[]],
  validity: Validity,
): { readonly cert: string; readonly key: string } {
  const key = newKey();
  const certificate = certify({
    subject: nameOf(names[0]),
    issuer: nameOf(names[0]),
    signer: key,
    publicKey: key,
    validity,
    extensions: [
      extension("2.5.29.19", sequence(), true),
      extension("2.5.29.15", bits(Buffer.from([0x80]), 7), true),
      extension("2.5.29.37", sequence(oid("1.3.6.1.5.5.7.3.1"))),
      extension("2.5.29.17", sequence(...names.map(alternativeName))),
      extension("2.5.29.14", octets(keyId(key))),
    ],
  });
  return { cert: pemOf(certificate), key: exported(key) };
}

const exported = (key: KeyObject): string => key.export({ type: "pkcs8", format: "pem" }) as string;

interface Parts {
  readonly subject: Buffer;
  readonly issuer: Buffer;
  readonly signer: KeyObject;
  readonly publicKey: KeyObject;
  readonly validity: Validity;
  readonly extensions: readonly Buffer[];
}

function certify({ subject, issuer, signer, publicKey, validity, extensions }: Parts): Buffer {
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  const content = sequence(
    explicit(0, integer(2)),
    integer(serial),
    ECDSA_WITH_SHA256,
    issuer,
    sequence(time(validity.from), time(validity.to)),
    subject,
    publicInfo(publicKey),
    explicit(3, sequence(...extensions)),
  );
  return sequence(content, ECDSA_WITH_SHA256, bits(sign("sha256", content, signer)));
}

const newKey = (): KeyObject => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;

function publicInfo(key: KeyObject): Buffer {
  const { x = "", y = "" } = key.export({ format: "jwk" });
  const point = Buffer.concat([Buffer.from([4]), Buffer.from(x, "base64url"), Buffer.from(y, "base64url")]);
  return sequence(sequence(oid("1.2.840.10045.2.1"), oid("1.2.840.10045.3.1.7")), bits(point));
}

const keyId = (key: KeyObject): Buffer => createHash("sha1").update(publicInfo(key)).digest();

const nameOf = (text: string): Buffer => sequence(setOf(sequence(oid("2.5.4.3"), utf8(text))));

function extension(id: string, value: Uint8Array, critical = false): Buffer {
  return sequence(oid(id), ...(critical ? [yes()] : []), octets(value));
}

function alternativeName(host: string): Buffer {
  if (isIPv4(host)) return implicit(7, Buffer.from(host.split(".").map(Number)));
  if (isIPv6(host)) throw new Error("no certificates for IPv6 addresses");
  return implicit(2, Buffer.from(host));
}

function validity(): Validity {
  const now = Date.now();
  return { from: new Date(now - BEFORE_MS), to: new Date(now + DAYS * DAY_MS) };
}

function pemOf(der: Buffer): string {
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n");
}
