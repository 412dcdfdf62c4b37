import { type Principal, SandboxerError } from "@sandboxer/contract";
import { z } from "zod";
import { check } from "../../rest/check.ts";
import { within } from "../../rest/silence.ts";
import { whenOver } from "../../when-over.ts";
import type { Desk } from "../desk.ts";
import { answerJson, type Exchange, header, room } from "../exchange.ts";
import { openSandbox } from "../ports.ts";
import { readJsonBody } from "../read-body.ts";
import type { Context } from "./context.ts";
import { HOME } from "./contexts.ts";
import { type Line, WRITTEN } from "./translate.ts";

const KEEPALIVE_MS = 5_000;
const CONTEXT_PATH = /^\/contexts\/([\w-]{1,64})(\/restart)?$/;

const executeSchema = z.object({
  code: z.string(),
  context_id: z.string().max(64).nullish(),
  language: z.string().nullish(),
  env_vars: z.record(z.string(), z.string()).nullish(),
});
const contextSchema = z.object({
  language: z.string().nullish(),
  cwd: z.string().min(1).max(4_096).nullish(),
});

/** What E2B's code interpreter answers inside a sandbox, answered by this gateway. */
export async function serveInterpreter(exchange: Exchange, desk: Desk, sandboxId: string): Promise<void> {
  const { ground, incoming, outgoing, url, facts } = exchange;
  facts.route = "e2b interpreter";
  const { sandbox, maker } = await openSandbox(exchange, desk, sandboxId);
  const token = header(exchange, "x-access-token");
  const principal = token === undefined ? maker : await ground.core.enterAccess(sandbox.id, token);
  facts.keyId = principal.keyId;
  const leave = ground.limits?.enter(principal.keyId);
  if (leave) whenOver(outgoing, leave);
  const { contexts } = desk;
  const [, id = "", restart] = CONTEXT_PATH.exec(url.pathname) ?? [];
  switch (`${incoming.method} ${id ? "/contexts/{id}" : url.pathname}${restart ?? ""}`) {
    case "GET /health":
      return answerJson(outgoing, 200, "OK");
    case "POST /execute":
      return execute(exchange, desk, sandbox.id, principal);
    case "GET /contexts":
      return answerJson(outgoing, 200, (await contexts.list(principal, sandbox.id)).map(viewOf));
    case "POST /contexts": {
      const asked = check(contextSchema, await readJsonBody(incoming), "body") as z.output<
        typeof contextSchema
      >;
      const made = await contexts.make(principal, sandbox.id, asked.language ?? "python", asked.cwd ?? HOME);
      return answerJson(outgoing, 200, viewOf(made));
    }
    case "POST /contexts/{id}/restart":
      (await contexts.find(principal, sandbox.id, { id })).restart(principal);
      return answerJson(outgoing, 200, {});
    case "DELETE /contexts/{id}":
      await contexts.remove(principal, sandbox.id, id);
      return answerJson(outgoing, 200, {});
    default:
      throw new SandboxerError("not_found", "this gateway has no such route");
  }
}

const viewOf = ({ id, language, cwd }: Context) => ({ id, language, cwd });

async function execute(
  exchange: Exchange,
  desk: Desk,
  sandboxId: string,
  principal: Principal,
): Promise<void> {
  const { incoming, outgoing } = exchange;
  const asked = check(executeSchema, await readJsonBody(incoming), "body") as z.output<typeof executeSchema>;
  if (asked.context_id && asked.language) {
    throw new SandboxerError("invalid_request", "Only one of context_id or language can be provided");
  }
  const context = await desk.contexts.find(principal, sandboxId, {
    ...(asked.context_id && { id: asked.context_id }),
    ...(asked.language && { language: asked.language }),
  });
  // What cannot begin at all is refused with a status of its own.
  await context.begin(principal);
  const left = new AbortController();
  whenOver(outgoing, () => left.abort());
  const lines = context.run(principal, { code: asked.code, env: asked.env_vars ?? {} }, left.signal);
  outgoing.writeHead(200, { "content-type": "application/x-ndjson" }).flushHeaders();
  let waiting = lines.next();
  // To the end, whoever listens: the next cell waits for it.
  for (;;) {
    const came = await within(KEEPALIVE_MS, waiting);
    if (came?.done) break;
    if (!outgoing.destroyed) outgoing.write(`${inAscii(came?.value ?? { type: "keepalive" })}\n`);
    await room(outgoing);
    // Asked for only when it is waited for: a failure that nobody hears would end the gateway.
    if (came) waiting = lines.next();
  }
  outgoing.end();
}

/** As E2B says it: its client takes the two halves of a letter that came in two parts for two letters. */
function inAscii(line: Line): string {
  return (line[WRITTEN] ?? JSON.stringify(line)).replaceAll(
    /[\u0080-\uffff]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
