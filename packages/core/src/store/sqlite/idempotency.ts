import { SandboxerError } from "@sandboxer/contract";
import { AlreadyClaimed, ANSWERS_LAST_MS, type Claim, type IdempotencyStore } from "../idempotency-store.ts";
import type { Connection } from "./open.ts";

interface ClaimRow {
  body_hash: string;
  sandbox_id: string | null;
  answer: string | null;
  state: string | null;
  plan: string | null;
  creator: string | null;
}

export function idempotencyCommands(connection: Connection): IdempotencyStore {
  return {
    async findReplay(claim) {
      const row = findClaim(connection, claim);
      return (
        row && {
          ...(row.answer !== null && { answer: row.answer }),
          ...(row.sandbox_id !== null && { sandboxId: row.sandbox_id }),
          ...(row.plan !== null && { plan: row.plan }),
          ...(row.creator !== null && { creator: row.creator }),
        }
      );
    },

    async beginClaim(claim, { plan, creator }) {
      await connection.commit(() => {
        claimOnce(connection, claim, {});
        const mark = "UPDATE idempotency SET plan = ?, creator = ? WHERE scope = ?";
        connection.prepare(mark).run(plan, creator, claim.scope);
      });
    },

    async finishClaim({ scope }, answer) {
      const told = "UPDATE idempotency SET answer = ? WHERE scope = ?";
      await connection.commit(() => connection.prepare(told).run(answer, scope));
    },

    async dropClaim({ scope }) {
      const free = "DELETE FROM idempotency WHERE scope = ? AND answer IS NULL";
      await connection.commit(() => connection.prepare(free).run(scope));
    },
  };
}

/** Within a write: this command is the one that the claim stands for, or nothing is written. */
export function claimOnce(
  connection: Connection,
  claim: Claim | undefined,
  led: { readonly sandboxId?: string; readonly answer?: string },
): void {
  if (!claim) return;
  if (findClaim(connection, claim)) throw new AlreadyClaimed();
  const { prepare } = connection;
  prepare("DELETE FROM idempotency WHERE scope = ? OR created_at_ms <= ?").run(
    claim.scope,
    claim.atMs - ANSWERS_LAST_MS,
  );
  prepare(
    "INSERT INTO idempotency (scope, body_hash, sandbox_id, answer, created_at_ms) VALUES (?, ?, ?, ?, ?)",
  ).run(claim.scope, claim.bodyHash, led.sandboxId ?? null, led.answer ?? null, claim.atMs);
}

/** Within a write: from now on the claim has this answer. */
export function answerClaim({ prepare }: Connection, sandboxId: string, answer: unknown): void {
  prepare("UPDATE idempotency SET answer = ? WHERE sandbox_id = ?").run(JSON.stringify(answer), sandboxId);
}

/** A create that failed left nothing behind, so its key is free for another try. */
function findClaim({ prepare }: Connection, { scope, bodyHash, atMs }: Claim): ClaimRow | undefined {
  const row = prepare(
    `SELECT body_hash, sandbox_id, answer, state, plan, idempotency.creator AS creator FROM idempotency LEFT JOIN sandboxes ON sandboxes.id = sandbox_id
     WHERE scope = ? AND idempotency.created_at_ms > ?`,
  ).get(scope, atMs - ANSWERS_LAST_MS) as unknown as ClaimRow | undefined;
  if (!row || row.state === "failed") return undefined;
  if (row.body_hash === bodyHash) return row;
  throw new SandboxerError("idempotency_mismatch", "this idempotency key stands for another request");
}
