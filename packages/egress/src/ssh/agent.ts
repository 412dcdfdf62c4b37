import type { Duplex } from "node:stream";
import type { GuardedKey } from "@sandboxer/contract";
import { send } from "../http/answer.ts";
import { judgeLogin } from "./judge.ts";
import { type Login, parseLogin } from "./login.ts";
import { parsePrivateKey, type SigningKey } from "./private-key.ts";
import { fingerprintOf, isSignedBy } from "./public-key.ts";
import { Malformed, number, Reader, string } from "./wire.ts";

/** What the protocol calls them. */
const FAILURE = 5;
const SUCCESS = 6;
const IDENTITIES = 11;
const IDENTITIES_ANSWER = 12;
const SIGN = 13;
const SIGN_ANSWER = 14;
const EXTENSION = 27;
const SESSION_BIND = "session-bind@openssh.com";
const MOST_BYTES = 262_144;
/** A client goes through one server, or few. */
const MOST_BOUND = 16;
const RSA_SHA2_512 = 4;
const RSA_SHA2_256 = 2;

/** One signature, as it is told of. */
export interface Signature {
  readonly key: string;
  readonly fingerprint: string;
  readonly host: string;
  readonly hostKey?: string;
  readonly user: string;
}

export interface AgentParts {
  /** Those that whoever asks may use right now. */
  keys(): readonly GuardedKey[];
  ask(signature: Signature): Promise<boolean>;
  note(signature: Signature, verdict: "allowed" | "denied", reason?: string): void;
}

/** Answers one program until it leaves. It can have its logins signed, and nothing else. */
export async function serveAgent(client: Duplex, parts: AgentParts): Promise<void> {
  const bound = new Map<string, Buffer>();
  const state = { bound, isForwarded: false };
  let held: Buffer = Buffer.alloc(0);
  for await (const chunk of client) {
    held = Buffer.concat([held, chunk as Buffer]);
    while (held.length >= 4 && held.length >= 4 + held.readUInt32BE()) {
      const length = held.readUInt32BE();
      const message = held.subarray(4, 4 + length);
      held = held.subarray(4 + length);
      const answer = await answerTo(message, parts, state).catch((error) => {
        if (error instanceof Malformed) return Buffer.from([FAILURE]);
        throw error;
      });
      // Whoever does not read its answers gets no more of them.
      if (!(await send(client, string(answer)))) return;
    }
    if (held.length > MOST_BYTES) return void client.destroy();
  }
  client.end();
}

interface State {
  /** Host keys that were proven, by session. */
  readonly bound: Map<string, Buffer>;
  /** It is not only this program that speaks, but whoever is where it is logged in. */
  isForwarded: boolean;
}

async function answerTo(message: Buffer, parts: AgentParts, state: State): Promise<Buffer> {
  const reader = new Reader(message);
  const kind = reader.byte();
  if (kind === IDENTITIES) return identities(parts.keys());
  if (kind === SIGN) return sign(reader, parts, state);
  if (kind === EXTENSION && reader.text() === SESSION_BIND) bind(reader, state);
  else throw new Malformed("keys are not changed from here");
  return Buffer.from([SUCCESS]);
}

function identities(keys: readonly GuardedKey[]): Buffer {
  const all = keys.flatMap((key) => {
    const { blob } = opened(key) ?? {};
    return blob ? [Buffer.concat([string(blob), string(key.name)])] : [];
  });
  return Buffer.concat([Buffer.from([IDENTITIES_ANSWER]), number(all.length), ...all]);
}

/** The server's key, and its signature over what only this connection is called. */
function bind(reader: Reader, state: State): void {
  const [hostKey, session, signature] = [reader.string(), reader.string(), reader.string()];
  if (reader.byte() !== 0) state.isForwarded = true;
  reader.end();
  if (!isSignedBy(hostKey, session, signature)) throw new Malformed("nobody proved to be this host");
  if (state.bound.size >= MOST_BOUND) throw new Malformed("too many hosts");
  state.bound.set(session.toString("base64"), Buffer.from(hostKey));
}

async function sign(reader: Reader, parts: AgentParts, state: State): Promise<Buffer> {
  const [blob, data, flags] = [reader.string(), Buffer.from(reader.string()), reader.number()];
  reader.end();
  const find = () => parts.keys().find((one) => opened(one)?.blob.equals(blob));
  const key = find();
  const signing = key && opened(key);
  if (!signing) throw new Malformed("no such key");
  const login = parseLogin(data);
  const hostKey = state.bound.get(login.session.toString("base64"));
  const judged = judgeLogin(key, hostKey);
  const told: Signature = {
    key: key.name,
    fingerprint: signing.fingerprint,
    host: judged.host,
    ...(hostKey && { hostKey: fingerprintOf(hostKey) }),
    user: login.user,
  };
  const refuse = (reason: string): never => {
    parts.note(told, "denied", reason);
    throw new Malformed(reason);
  };
  if (!isOf(login, signing, flags, hostKey)) refuse("it is not the login of this connection");
  if (state.isForwarded) refuse("it is asked for from where this program is logged in");
  if (judged.effect === "deny") refuse(judged.reason);
  if (judged.effect === "ask" && !(await parts.ask(told))) refuse("nobody allowed it");
  // While somebody decided, it may have been taken away.
  if (!find()) refuse("the key was taken away");
  parts.note(told, "allowed");
  return Buffer.concat([Buffer.from([SIGN_ANSWER]), string(signing.sign(login.algorithm, data))]);
}

/** The words that are signed have to agree with the question, and with what the host proved. */
function isOf(login: Login, { blob, type }: SigningKey, flags: number, hostKey: Buffer | undefined): boolean {
  const rsa = flags === RSA_SHA2_512 ? "rsa-sha2-512" : flags === RSA_SHA2_256 ? "rsa-sha2-256" : "";
  if (login.algorithm !== (type === "ssh-rsa" ? rsa : type) || !login.key.equals(blob)) return false;
  return !login.hostKey || (hostKey !== undefined && login.hostKey.equals(hostKey));
}

const known = new WeakMap<GuardedKey, SigningKey>();

/** Of a kind that nobody here can sign with, it is as if it were not there. */
function opened(key: GuardedKey): SigningKey | undefined {
  const before = known.get(key);
  if (before) return before;
  try {
    const parsed = parsePrivateKey(key.privateKey);
    known.set(key, parsed);
    return parsed;
  } catch {
    return undefined;
  }
}
