import type { Door } from "./door.ts";

export interface Told {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: what a test looks for in it, it says itself
  readonly json: any;
}

/** Asks the control API as a client without any library would. */
export async function ask(door: Door, method: string, path: string, body?: unknown): Promise<Told> {
  const answer = await fetch(`${door.url}${path}`, {
    method,
    headers: { "x-api-key": door.options.apiKey ?? "", "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, json: text === "" ? undefined : JSON.parse(text) };
}
