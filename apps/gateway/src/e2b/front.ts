import type { IncomingMessage, ServerResponse } from "node:http";
import { newRowId, SandboxerError } from "@sandboxer/contract";
import { discardRest } from "../incoming.ts";
import type { Log } from "../log.ts";
import type { PreviewPlace } from "../previews/address.ts";
import type { Previews } from "../previews/previews.ts";
import type { Openly } from "../previews/visit.ts";
import { createReport } from "../rest/failure.ts";
import { type Allowed, refusalOf } from "../rest/guard.ts";
import type { Ground } from "../rest/route.ts";
import { type Address, ENVD_PORT, findAddress, INTERPRETER_PORT } from "./address.ts";
import { createAutoPause } from "./auto-pause.ts";
import { createBuilds } from "./builds/build.ts";
import { clearInterrupted } from "./builds/clear-interrupted.ts";
import { openJournal } from "./builds/journal.ts";
import type { Images } from "./builds/run.ts";
import { openTags } from "./builds/tags.ts";
import { serveUpload } from "./builds/upload.ts";
import { serveControl } from "./control/serve.ts";
import type { Desk } from "./desk.ts";
import { sandboxOfSignature } from "./envd/admit.ts";
import { learnLeft } from "./envd/left-signatures.ts";
import { serveEnvd } from "./envd/serve.ts";
import { createSignatures } from "./envd/signatures.ts";
import { answerJson, type Exchange, headersOf } from "./exchange.ts";
import { failureOf, Misdirected, Unreachable } from "./failure.ts";
import { createContexts } from "./interpreter/contexts.ts";
import { serveInterpreter } from "./interpreter/serve.ts";
import { layingDown } from "./lay-down.ts";
import { isOpened, openSandbox, servePort } from "./ports.ts";
import { serveVolume } from "./volumes/content.ts";
import { createKeepers } from "./volumes/keepers.ts";

/** E2B's wire protocol in front of core: what its clients ask never reaches the REST API. */
export interface E2bFront {
  find(incoming: IncomingMessage): Address | undefined;
  serve(address: Address, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void>;
  /** For connections that want to be WebSockets: the previews carry them. */
  readonly openly: Openly;
  close(): Promise<void>;
}

/** What E2B's builder starts from unless it is told otherwise. */
const KNOWN_IMAGES: Images = { "e2bdev/base": { kind: "host" } };

interface FrontOptions {
  readonly allowed: Allowed;
  readonly previews: Previews;
  readonly internet: boolean;
  readonly images: Images;
  /** Where it is kept what tags were given to templates after they were built. */
  readonly tagsFile: string;
  /** Where it is kept which builds are under way. */
  readonly buildsFile: string;
}

export function createE2bFront(ground: Ground, log: Log, options: FrontOptions): E2bFront {
  const { allowed, previews, internet, images, tagsFile, buildsFile } = options;
  const { place } = ground.previews;
  const contexts = createContexts(ground.core);
  const layDown = layingDown(ground.core, contexts.forget);
  const signatures = createSignatures();
  const desk: Desk = {
    autoPause: createAutoPause(ground.core, log, layDown),
    layDown,
    internet,
    images: { ...KNOWN_IMAGES, ...images },
    builds: createBuilds(openJournal(buildsFile)),
    tags: openTags(tagsFile),
    contexts,
    signatures,
    leftSigned: learnLeft(ground.core, signatures, log),
    keepers: createKeepers(ground.core),
    domain: () => ground.previews.url && place.domainOf(new URL(ground.previews.url)),
  };

  void clearInterrupted(ground.core, desk.builds.journal, log);

  async function dispatch(address: Address, exchange: Exchange): Promise<void> {
    if (address.kind === "upload") return serveUpload(exchange, desk, address.token);
    if (address.kind === "volume") return serveVolume(exchange, desk, address);
    if (address.kind === "control") return serveControl(exchange, desk);
    if (address.kind === "signed") return serveEnvd(exchange, desk, await sandboxOfSignature(exchange, desk));
    if (address.port === ENVD_PORT) return serveEnvd(exchange, desk, address.sandboxId);
    if (address.port === INTERPRETER_PORT) return serveInterpreter(exchange, desk, address.sandboxId);
    if (address.preview && !(await isOpened(ground.core, address.sandboxId))) {
      return previews.serve(address.preview, exchange.incoming, exchange.outgoing);
    }
    return servePort(exchange, desk, address);
  }

  return {
    find: (incoming) => findAddress(incoming, place),
    async openly(address, incoming) {
      if (address.kind !== "host" || !(await isOpened(ground.core, address.sandboxId))) return undefined;
      const { sandboxId, port } = address;
      const { maker } = await openSandbox({ ground, incoming }, desk, sandboxId);
      return { principal: maker, sandboxId, port };
    },
    close: () => desk.autoPause.close(),
    async serve(address, incoming, outgoing) {
      const requestId = newRowId("req");
      const startedAt = performance.now();
      const report = createReport(log, requestId);
      const facts: Exchange["facts"] = { route: `e2b ${address.kind}` };
      const url = new URL(`http://localhost${incoming.url?.startsWith("/") ? incoming.url : "/"}`);
      const exchange: Exchange = { ground, incoming, outgoing, url, report, facts };
      // Each stream that is led to it listens for every kind of end.
      outgoing.setMaxListeners(20);
      outgoing.once("close", () => {
        const tookMs = performance.now() - startedAt;
        const { method = "" } = incoming;
        const { statusCode: status } = outgoing;
        ground.meters.observe({ method, route: facts.route, status, seconds: tookMs / 1_000 });
        const durationMs = Math.round(tookMs * 1_000) / 1_000;
        const more = { requestId, method, path: url.pathname, status, durationMs };
        log({ level: "info", event: "request", ...more, keyId: facts.keyId, code: facts.code });
      });
      try {
        refuseForeign(address, incoming, { allowed, isApi: place.isApi });
        await dispatch(address, exchange);
      } catch (error) {
        fail(exchange, error);
      }
      discardRest(incoming);
    },
  };
}

/** Names of this door's own are checked by having been found; all others as for the REST API. */
function refuseForeign(
  address: Address,
  incoming: IncomingMessage,
  { allowed, isApi }: { allowed: Allowed; isApi: PreviewPlace["isApi"] },
): void {
  const host = incoming.headers.host ?? "";
  const isOwnName = (address.kind === "sandbox" && address.preview !== undefined) || isApi(host);
  const refusal = refusalOf(headersOf({ incoming }), allowed, isOwnName ? "localhost" : host);
  if (refusal) throw new Misdirected(refusal.status, refusal.error);
}

function fail({ outgoing, report, facts }: Exchange, error: unknown): void {
  if (outgoing.headersSent || outgoing.destroyed) return void outgoing.destroy();
  if (error instanceof Unreachable) return answerJson(outgoing, error.status, error.body);
  const told = report(error instanceof Misdirected ? error.reason : error);
  facts.code = told.code;
  const { status, body } = failureOf(told, error instanceof Misdirected ? error.status : undefined);
  const { retryAfterMs } = SandboxerError.is(error) ? error.details : {};
  const later = Math.max(1, Math.ceil(Number(retryAfterMs) / 1_000));
  answerJson(outgoing, status, body, retryAfterMs === undefined ? {} : { "retry-after": String(later) });
}
