import {
  type CreateBody,
  createBodySchema,
  DEFAULT_KEEP_MS,
  type IsolationClass,
  isAtLeast,
  MINIMUM_TTL_MS,
  type Operation,
  type Rights,
  SandboxerError,
  type SandboxSpec,
  stronger,
} from "@sandboxer/contract";
import { authorizeNetwork } from "../network/narrow.ts";
import { parse } from "../parse.ts";

type Chain = readonly Rights[];

function deny(rule: keyof Rights, message: string, details: Record<string, unknown> = {}): never {
  throw new SandboxerError("policy_denied", message, { details: { rule, ...details } });
}

/** Every link has to allow the operation. */
export function authorize(chain: Chain, operation: Operation): void {
  for (const { operations } of chain) {
    if (operations && !operations.includes(operation)) {
      deny("operations", `this key may not do ${operation}`, { operation, allowed: operations });
    }
  }
}

/**
 * What the caller asked, as the spec that every link of the chain allows. Asking beyond a limit is
 * refused and says so; only a default is quietly cut to fit.
 */
export function authorizeCreate(chain: Chain, body: CreateBody) {
  authorize(chain, "sandbox.create");
  const {
    name,
    consumer,
    visibility,
    budgetMicroUsd,
    routing = {},
    reuse,
    profile: _,
    ...request
  } = parse(createBodySchema, body);
  if (request.workspace) authorize(chain, "workspace.mount");
  const spec: SandboxSpec = {
    ...request,
    schema: 1,
    ...keptAs(request),
    network: authorizeNetwork(chain, request.network),
    isolation: isolationFloor(chain, request.isolation),
    ttlMs: body.ttlMs === undefined ? clampTtl(chain, request.ttlMs) : checkTtl(chain, request.ttlMs),
  };
  const extensions = allowedExtensions(chain, request.extensions);
  if (extensions) spec.extensions = extensions;
  return { name, consumer, visibility, budgetMicroUsd, routing, reuse, spec };
}

/** What is said of keeping it, where it is kept at all. */
function keptAs({ persistence, atEnd, keepMs }: Pick<SandboxSpec, "persistence" | "atEnd" | "keepMs">) {
  if (persistence !== "ephemeral") return { atEnd: atEnd ?? "stop", keepMs: keepMs ?? DEFAULT_KEEP_MS };
  if (atEnd === "stop" || keepMs !== undefined) {
    throw new SandboxerError(
      "invalid_request",
      "persistence: one that is ephemeral cannot be stopped and kept",
      {
        hint: "Ask for persistence persistent.",
      },
    );
  }
  return {};
}

/** Where a link lists profiles, one of them has to be used: by name any version, or that version. */
export function authorizeProfile(chain: Chain, profile: { name: string; version: number } | undefined): void {
  for (const { profiles } of chain) {
    if (!profiles) continue;
    const { name, version } = profile ?? {};
    if (name && (profiles.includes(name) || profiles.includes(`${name}@${version}`))) continue;
    deny("profiles", `this key may use ${profiles.join(", ") || "no profile"}`, { allowed: profiles });
  }
}

/** A sandbox that exists may be used by a narrower key than made it, but only within its rights. */
export function authorizeUse(
  chain: Chain,
  operation: Operation,
  place: { readonly extensionId: string; readonly isolation: IsolationClass },
): void {
  authorize(chain, operation);
  const floor = isolationFloor(chain, "process");
  if (!isAtLeast(place.isolation, floor)) {
    deny("minimumIsolation", `this key needs ${floor}; the sandbox is ${place.isolation}`, { floor });
  }
  allowedExtensions(chain, [place.extensionId]);
}

/** How long a sandbox may live in all, however often its end is moved. */
export function authorizeLifetime(chain: Chain, lifetimeMs: number): void {
  const limitMs = ttlLimit(chain);
  if (lifetimeMs > limitMs) {
    deny("maximumTtlMs", `it would live ${lifetimeMs} ms; this key's limit is ${limitMs}`, { limitMs });
  }
}

function isolationFloor(chain: Chain, asked: IsolationClass): IsolationClass {
  return chain.reduce(
    (floor, { minimumIsolation }) => (minimumIsolation ? stronger(floor, minimumIsolation) : floor),
    asked,
  );
}

/** `undefined` is any; the caller accepts any of a list, so what remains of it is enough. */
function allowedExtensions(chain: Chain, asked: string[] | undefined): string[] | undefined {
  let allowed = asked;
  for (const { extensions } of chain) {
    if (!extensions) continue;
    const before = allowed;
    allowed = before ? before.filter((id) => extensions.includes(id)) : [...extensions];
    if (allowed.length > 0 || before?.length === 0) continue;
    deny("extensions", `this key may use ${extensions.join(", ") || "no extension"}`, {
      asked,
      allowed: extensions,
    });
  }
  return allowed;
}

function ttlLimit(chain: Chain): number {
  return Math.min(...chain.map(({ maximumTtlMs }) => maximumTtlMs ?? Number.POSITIVE_INFINITY));
}

function checkTtl(chain: Chain, askedMs: number): number {
  const limitMs = ttlLimit(chain);
  if (askedMs <= limitMs) return askedMs;
  return deny("maximumTtlMs", `ttlMs ${askedMs} is beyond this key's limit of ${limitMs}`, {
    askedMs,
    limitMs,
  });
}

function clampTtl(chain: Chain, defaultMs: number): number {
  const limitMs = ttlLimit(chain);
  if (limitMs >= MINIMUM_TTL_MS) return Math.min(defaultMs, limitMs);
  return deny("maximumTtlMs", `this key's limit of ${limitMs} ms is below the least possible`, {
    limitMs,
  });
}
