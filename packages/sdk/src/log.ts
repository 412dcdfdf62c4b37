import {
  type Audit,
  auditSchema,
  type CreateWebhookBody,
  createdWebhookSchema,
  type Event,
  eventPageSchema,
  eventSchema,
  type Webhook,
  webhookListSchema,
} from "@sandboxer/contract";
import { fromJson, rebuildFrom, strange } from "./failure.ts";
import { LineReader } from "./lines.ts";
import { drained } from "./process.ts";
import type { Once, Transport } from "./transport.ts";

export interface Log {
  /** Oldest first. */
  list(query?: { readonly after?: number; readonly limit?: number }): Promise<readonly Event[]>;
  /** From `after` on, for as long as it is read, or until the signal, whose reason is thrown. An event's `seq` is where the next reader goes on. */
  follow(query?: { readonly after?: number; readonly signal?: AbortSignal }): AsyncIterable<Event>;
  /** Whether the org's whole log is as it was written. */
  verify(): Promise<Audit>;
}

export interface Webhooks {
  /** https, and never an address inside a network. The secret is only in this answer. */
  create(body: CreateWebhookBody, once?: Once): Promise<{ webhook: Webhook; secret: string }>;
  list(): Promise<readonly Webhook[]>;
  delete(webhookId: string): Promise<void>;
}

export function openLog(transport: Transport): Log {
  return {
    async list(query = {}) {
      return (await transport.ask(eventPageSchema, "GET", "/v1/events/page", { query })).events;
    },
    async *follow({ after, signal } = {}) {
      signal?.throwIfAborted();
      const response = await transport.send("GET", "/v1/events", { query: { after } });
      if (!response.body) throw strange("the answer has no body");
      const lines = new LineReader(response.body);
      // Between two events there may be hours, in which nobody could leave otherwise.
      const leave = () => void lines.cancel();
      signal?.addEventListener("abort", leave, { once: true });
      if (signal?.aborted) leave();
      try {
        yield* readFrames(lines);
      } finally {
        signal?.removeEventListener("abort", leave);
      }
      signal?.throwIfAborted();
    },
    verify: () => transport.ask(auditSchema, "GET", "/v1/audit/verify"),
  };
}

export function openWebhooks(transport: Transport): Webhooks {
  return {
    create: (json, once) => transport.ask(createdWebhookSchema, "POST", "/v1/webhooks", { json, once }),
    async list() {
      return (await transport.ask(webhookListSchema, "GET", "/v1/webhooks")).webhooks;
    },
    delete: (id) => drained(transport.send("DELETE", `/v1/webhooks/${encodeURIComponent(id)}`)),
  };
}

/** The gateway writes one `data` line a frame; comments and ids are for others. */
async function* readFrames(lines: LineReader): AsyncGenerator<Event> {
  let type = "";
  try {
    for (let line = await lines.next(); line !== undefined; line = await lines.next()) {
      if (line.startsWith("event: ")) type = line.slice(7);
      if (!line.startsWith("data: ")) continue;
      const data = fromJson(line.slice(6));
      if (type === "error") throw rebuildFrom(data);
      const parsed = eventSchema.safeParse(data);
      if (!parsed.success) throw strange("an event of a form this client does not know", parsed.error);
      yield parsed.data;
    }
  } finally {
    await lines.cancel();
  }
}
