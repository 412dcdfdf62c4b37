import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { SecureContext } from "node:tls";
import type { Misuse } from "@sandboxer/contract";
import type { Caught } from "../dlp/watch.ts";
import type { Place } from "../http/authority.ts";
import { endTls } from "../http/inspector.ts";
import { serveSession } from "../http/session.ts";
import type { RequestNote } from "../http/session-parts.ts";
import type { AskedRequest } from "../policy/decide.ts";
import { attachmentOf } from "../policy/users.ts";
import type { Resolve } from "../resolve.ts";
import { passGate } from "../secrets/gate.ts";
import { putHeaders } from "../secrets/put-headers.ts";
import { hintFor } from "./hint.ts";
import { judgeRequest } from "./judge.ts";
import type { Questions } from "./questions.ts";
import { reach, type Upstreams } from "./reaching.ts";
import type { Noted, Ward } from "./ward.ts";

/** A connection whose requests are read. */
export interface Inspected {
  readonly ward: Ward;
  readonly via: Noted["via"];
  readonly uid: number;
  /** The program that asks, where it can be seen. */
  readonly binary?: string;
  readonly scheme: "http" | "https";
  /** Absent for one to the proxy, whose port it then is. */
  readonly place?: Place;
  readonly port: number;
  /** Judged when the connection was. */
  readonly addresses?: readonly string[];
  /** What is being asked right now. */
  asked?: AskedRequest | undefined;
}

export interface InspectionParts {
  readonly resolve: Resolve;
  /** Whom to believe on the far side. */
  readonly trust: SecureContext;
  note(sandbox: string, call: Noted): void;
  misused(sandbox: string, misuse: Misuse): void;
  readonly ask: Questions["ask"];
  /** Whoever goes there pays from now on. */
  charge(place: Place): void;
}

export async function inspect(socket: Socket, inspected: Inspected, parts: InspectionParts): Promise<void> {
  const { ward, via, uid, scheme, place, binary } = inspected;
  const attachmentId = attachmentOf(ward.users, uid);
  const whose = attachmentId ? { attachmentId } : {};
  const seen = binary ? { binary } : {};
  const note = ({ place: where = place, misuse, ...rest }: RequestNote) => {
    const { host, port } = where ?? { host: undefined, port: inspected.port };
    const at = { atMs: Date.now(), ...(host && { host }), port };
    parts.note(ward.sandbox, { ...at, via, ...seen, ...whose, ...rest });
    if (misuse && host) parts.misused(ward.sandbox, { atMs: Date.now(), host, port, ...whose, ...misuse });
  };
  const upstreams: Upstreams = new Map();
  try {
    const client = await readable(socket, inspected);
    const askAbout = (asked: AskedRequest, rule: string | undefined) => {
      const { host, port, method, path, query } = asked;
      const left = new Promise<void>((resolve) => client.once("close", resolve));
      const what = {
        host,
        port,
        protocol: scheme,
        method,
        path,
        ...(query && { query }),
        ...(rule && { rule }),
      };
      return parts.ask(ward.sandbox, { kind: "request", ...what, ...whose }, left);
    };
    await serveSession({
      client,
      scheme,
      ...(place && { place }),
      hint: hintFor(ward.sandbox),
      decide: (asked) => {
        const decision = judgeRequest(ward, uid, { ...asked, ...seen });
        // To the proxy each request may be for somebody else.
        if (!place && decision.verdict !== "denied") parts.charge(asked);
        return decision;
      },
      ask: askAbout,
      // By the secrets and the users of this moment, as the rules are.
      fill: (asked, head) => {
        const { host, port } = asked;
        const looking = {
          ask: (pattern: string) => askAbout(asked, `dlp/${pattern}`),
          seen: ({ misuse }: Caught) =>
            parts.misused(ward.sandbox, { atMs: Date.now(), host, port, ...whose, ...misuse }),
        };
        const known = () => {
          const { dlp } = ward.terms.network;
          return { book: ward.book, dlp: dlp && { dlp, ...looking } };
        };
        const put = putHeaders(ward, asked, head);
        return passGate({ known, users: ward.users, uid, scheme, held: ward.held }, asked, put);
      },
      reach: (where, cidrs) => reach(where, cidrs, inspected, parts, upstreams),
      asking: (asked) => {
        inspected.asked = asked && { ...asked, ...seen };
      },
      note,
    });
  } catch (error) {
    note({ verdict: "denied", reason: error instanceof Error ? error.message : "it broke off" });
    socket.destroy();
  } finally {
    for (const { upstream } of upstreams.values()) upstream.close();
  }
}

async function readable(socket: Socket, { ward, scheme, place }: Inspected): Promise<Duplex> {
  if (scheme === "http" || !place) return socket;
  return endTls(socket, place.host, ward.contextFor(place.host));
}
