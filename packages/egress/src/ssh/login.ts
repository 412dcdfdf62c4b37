import { Malformed, Reader } from "./wire.ts";

/** What a client signs to log in somewhere. Nothing else is ever signed. */
export interface Login {
  /** Of the connection it logs in on. */
  readonly session: Buffer;
  readonly user: string;
  readonly algorithm: string;
  readonly key: Buffer;
  /** The server's, where the client says it along. */
  readonly hostKey?: Buffer;
}

const USERAUTH_REQUEST = 50;
const HOST_BOUND = "publickey-hostbound-v00@openssh.com";

export function parseLogin(data: Buffer): Login {
  const reader = new Reader(data);
  const session = reader.string();
  const kind = reader.byte();
  const user = reader.text();
  const service = reader.text();
  const method = reader.text();
  if (kind !== USERAUTH_REQUEST || service !== "ssh-connection" || reader.byte() !== 1) notALogin();
  if (method !== "publickey" && method !== HOST_BOUND) notALogin();
  const algorithm = reader.text();
  const key = reader.string();
  const hostKey = method === HOST_BOUND ? reader.string() : undefined;
  reader.end();
  return { session, user, algorithm, key, ...(hostKey && { hostKey }) };
}

function notALogin(): never {
  throw new Malformed("only logins are signed");
}
