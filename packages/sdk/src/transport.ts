import { SandboxerError } from "@sandboxer/contract";
import { failureOf, fromJson, strange, unreachable } from "./failure.ts";
import { createSockets, type OpenSocket, type SocketMaker } from "./sockets.ts";

/** What the client needs of `fetch`. A gateway in the same process offers exactly this. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** What the client asks of a schema. */
interface Shape<T> {
  safeParse(value: unknown): { success: true; data: T } | { success: false; error?: unknown };
}

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** For what creates: asked again with the same word, there is still one. */
export interface Once {
  readonly idempotencyKey?: string;
}

interface Call {
  readonly query?: Query;
  readonly json?: unknown;
  readonly once?: Once | undefined;
  readonly body?: Uint8Array | ReadableStream<Uint8Array>;
}

/** One gateway and one key. Every request of the client goes through `send`. */
export interface Transport {
  /** The answer, when its status says that it went well; otherwise throws the gateway's error. */
  send(method: string, path: string, call?: Call): Promise<Response>;
  /** The same, with the answer's JSON checked. */
  ask<T>(shape: Shape<T>, method: string, path: string, call?: Call): Promise<T>;
  /** The same, acting through one of the key's attachments. */
  through(attachmentId: string): Transport;
  /** Absent where the platform has none. */
  readonly openSocket?: OpenSocket;
}

interface TransportOptions {
  readonly url: string;
  readonly apiKey: string;
  readonly fetch: Fetch;
  readonly WebSocket: SocketMaker | undefined;
  readonly attachmentId?: string;
}

export function createTransport(options: TransportOptions): Transport {
  const base = addressOf(options.url);
  const { attachmentId } = options;
  const identity = {
    authorization: `Bearer ${options.apiKey}`,
    ...(attachmentId !== undefined && { "sandboxer-attachment": attachmentId }),
  };
  refuseUnsendable(identity);

  async function send(method: string, path: string, call: Call = {}): Promise<Response> {
    const key = call.once?.idempotencyKey;
    const headers = { ...identity, ...(key !== undefined && { "idempotency-key": key }) };
    // A gateway never sends its callers elsewhere, and a key must not follow if somebody does. Without
    // a window to ask for passwords either, nothing is sent twice and `fetch` keeps no copy of the body.
    const init: RequestInit & { duplex?: "half" } = { method, headers, redirect: "error", window: null };
    if (call.json !== undefined) {
      init.body = JSON.stringify(call.json);
      init.headers = { ...headers, "content-type": "application/json" };
    } else if (call.body !== undefined) {
      init.body = call.body as BodyInit;
      init.headers = { ...headers, "content-type": "application/octet-stream" };
      if (call.body instanceof ReadableStream) init.duplex = "half";
    }
    const response = await options.fetch(base + path + queryString(call.query), init).catch((cause) => {
      throw unreachable(`cannot reach a gateway at ${base}`, cause);
    });
    if (!response.ok) throw await failureOf(response);
    return response;
  }

  return {
    send,
    through: (id) => createTransport({ ...options, attachmentId: id }),
    ...(options.WebSocket && { openSocket: createSockets({ ...options, WebSocket: options.WebSocket }) }),
    async ask(shape, method, path, call) {
      const response = await send(method, path, call);
      const text = await response.text().catch((cause) => {
        throw unreachable("the answer broke off", cause);
      });
      const parsed = shape.safeParse(fromJson(text));
      if (!parsed.success)
        throw strange(`${method} ${path} answered in a form this client does not know`, parsed.error);
      return parsed.data;
    },
  };
}

/** Told apart from a gateway that is away: to try again helps nobody. */
function addressOf(url: string): string {
  const { protocol } = URL.parse(url) ?? {};
  if (protocol === "http:" || protocol === "https:") return url.replace(/\/+$/, "");
  throw new SandboxerError("invalid_request", `${JSON.stringify(url)} is not the address of a gateway`, {
    hint: "Give it whole, as in http://127.0.0.1:7070.",
  });
}

function refuseUnsendable(identity: Record<string, string>): void {
  try {
    new Headers(identity);
  } catch {
    // Without the cause, which would repeat the key.
    throw new SandboxerError("invalid_request", "the key holds what no key has", {
      hint: "Give it as it was printed, on one line.",
    });
  }
}

function queryString(query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined)
      parameters.set(name, typeof value === "boolean" ? (value ? "1" : "0") : String(value));
  }
  return parameters.size === 0 ? "" : `?${parameters}`;
}
