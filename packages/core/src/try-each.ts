import { type Box, ERRORS, type Sandbox, SandboxerError, type SandboxSpec } from "@sandboxer/contract";
import type { House } from "./house.ts";
import { TRUST_VARIABLES } from "./network/trust.ts";
import { ask, callContext } from "./registry/registry.ts";
import type { Candidate } from "./route/route.ts";
import { placeholderVariables } from "./secrets/terms.ts";
import { findSetup, type KeptSetup } from "./setup-cache.ts";
import { withFolders } from "./volumes/volumes.ts";

const CREATE_PATIENCE_MS = 120_000;
/** For those that do not hold to their signal: its money is bound until then. */
const CREATE_AT_MOST_MS = 3_600_000;
const CLEANUP_PATIENCE_MS = 10_000;

interface Attempt {
  readonly extensionId: string;
  readonly tookMs: number;
  /** Absent when it succeeded. */
  readonly error?: { readonly code: string; readonly message: string };
}

export interface Taken {
  readonly box: Box;
  readonly candidate: Candidate;
  readonly triedAtMs: number;
  readonly attempts: readonly Attempt[];
  /** Where the outcome of its setup is kept, if it is. */
  readonly setup: KeptSetup | undefined;
}

/** The sandbox that another begins as a copy of. */
export interface Origin {
  readonly forkOf: string;
  /** What holds for it holds for its copies. */
  readonly profile?: Sandbox["profile"];
  /** What they share, and the only one who can give it. */
  readonly shared?: { readonly extensionId: string; readonly layers: readonly string[] } | undefined;
}

/** Typed failover: the next candidate is tried only for errors whose row in the table says so. */
export async function tryEach(
  house: House,
  sandbox: Sandbox,
  candidates: readonly Candidate[],
  layers?: readonly string[],
): Promise<Taken> {
  const attempts: Attempt[] = [];
  const spec = await specOf(house, sandbox);
  for (const [index, candidate] of candidates.entries()) {
    const { extensionId } = candidate;
    const triedAtMs = house.clock.nowMs();
    const since = house.clock.monotonicMs();
    let setup: KeptSetup | undefined;
    const progress = (message: string) => tell(house, sandbox, extensionId, message);
    const tookMs = () => Math.round(house.clock.monotonicMs() - since);
    try {
      const chosen = house.registry.get(extensionId);
      setup = await ask(chosen, () => findSetup(house, chosen, sandbox, progress));
      const context = callContext(house.installationId, CREATE_PATIENCE_MS, {
        sandboxId: sandbox.id,
        orgId: sandbox.orgId,
        tethered: house.tethered,
        ...(layers && { layers }),
        setupKey: setup?.key,
        progress,
      });
      const box = await ask(chosen, (extension) => extension.create(spec, context), CREATE_AT_MOST_MS);
      attempts.push({ extensionId, tookMs: tookMs() });
      return { box, candidate, triedAtMs, attempts, setup };
    } catch (thrown) {
      setup?.done();
      const error = SandboxerError.from(thrown);
      attempts.push({ extensionId, tookMs: tookMs(), error: { code: error.code, message: error.message } });
      house.pass("create.refused");
      // It may have made something before it failed; ours is the only name known for it.
      await discard(house, extensionId, sandbox.id);
      house.pass("create.discarded");
      if (ERRORS[error.code].failover && index < candidates.length - 1) continue;
      throw await fail(house, sandbox, error, attempts);
    }
  }
  throw new SandboxerError("internal", "a plan without a candidate reached its tries");
}

/** What takes long is an event of its own, so that whoever waits can see why. */
function tell(house: House, { id: sandboxId, orgId }: Sandbox, extensionId: string, message: string): void {
  const event = { type: "sandbox.preparing", orgId, atMs: house.clock.nowMs(), sandboxId } as const;
  house.journal
    .record({ ...event, data: { extensionId, message: message.slice(0, 500) } })
    .catch((error) => house.report("recording what takes long", SandboxerError.from(error)));
}

/** What the extension is asked for. Its row keeps what was asked of us. */
export async function specOf(house: House, sandbox: Sandbox): Promise<SandboxSpec> {
  const spec = await withFolders(house, sandbox.spec);
  if (spec.network.egress === "deny") return spec;
  const placeholders = await placeholderVariables(house, sandbox);
  return { ...spec, env: { ...TRUST_VARIABLES, ...spec.env, ...placeholders } };
}

/** The row says `failed` and the hold is released; the error says what was tried. */
export async function fail(
  house: House,
  { id, principalId }: Sandbox,
  error: SandboxerError,
  attempts: readonly Attempt[],
): Promise<SandboxerError> {
  const atMs = house.clock.nowMs();
  try {
    await house.store.failCreate({
      sandboxId: id,
      atMs,
      principalId,
      reason: error.message,
      data: { attempts },
    });
    house.pass("create.failed");
  } catch (unwritten) {
    // The caller hears of the first failure; the row stays `provisioning` for reconcile to end.
    house.report(`recording that ${id} failed`, SandboxerError.from(unwritten));
  }
  return new SandboxerError(error.code, error.message, {
    details: { ...error.details, sandboxId: id, attempts },
    hint: error.hint,
    cause: error,
  });
}

/** Best effort: what stays is found again by reconcile, and has its own dead-man switch. */
export async function discard(house: House, extensionId: string, ref: string): Promise<void> {
  try {
    await ask(
      house.registry.get(extensionId),
      (extension) => extension.destroy(ref, callContext(house.installationId, CLEANUP_PATIENCE_MS)),
      CLEANUP_PATIENCE_MS,
    );
  } catch (error) {
    house.report(`discarding ${ref} of ${extensionId}`, SandboxerError.from(error));
  }
}
