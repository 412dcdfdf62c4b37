/**
 * Budgets are accounts. An org's has no limit until it is given one; a key's is allotted from the
 * nearest account above it. Every move of money is a row of the ledger; balances are its projection.
 */
export const BUDGETS = `
  CREATE TABLE accounts (
    id                  TEXT PRIMARY KEY,
    org_id              TEXT NOT NULL,
    parent_id           TEXT REFERENCES accounts (id),
    limit_micro_usd     INTEGER CHECK (limit_micro_usd >= 0),
    available_micro_usd INTEGER NOT NULL DEFAULT 0,
    held_micro_usd      INTEGER NOT NULL DEFAULT 0 CHECK (held_micro_usd >= 0),
    spent_micro_usd     INTEGER NOT NULL DEFAULT 0 CHECK (spent_micro_usd >= 0),
    CHECK (limit_micro_usd IS NULL OR available_micro_usd >= 0)
  ) STRICT;

  DROP TRIGGER ledger_stays;
  DROP TRIGGER ledger_keeps;
  ALTER TABLE ledger RENAME TO ledger_1;
  CREATE TABLE ledger (
    seq               INTEGER PRIMARY KEY AUTOINCREMENT,
    id                TEXT NOT NULL UNIQUE,
    org_id            TEXT NOT NULL,
    sandbox_id        TEXT REFERENCES sandboxes (id),
    kind              TEXT NOT NULL CHECK (kind IN ('fund', 'allot', 'hold', 'capture', 'release')),
    debit             TEXT NOT NULL,
    debit_account_id  TEXT NOT NULL,
    credit            TEXT NOT NULL,
    credit_account_id TEXT NOT NULL,
    amount_micro_usd  INTEGER NOT NULL,
    from_ms           INTEGER,
    to_ms             INTEGER,
    at_ms             INTEGER NOT NULL,
    CHECK (amount_micro_usd >= 0)
  ) STRICT;
  INSERT INTO ledger (seq, id, org_id, sandbox_id, kind, debit, debit_account_id, credit, credit_account_id,
                      amount_micro_usd, at_ms)
    SELECT seq, id, org_id, sandbox_id, kind, debit, org_id, credit, org_id, amount_micro_usd, at_ms FROM ledger_1;
  DROP TABLE ledger_1;
  CREATE INDEX ledger_by_sandbox ON ledger (sandbox_id, seq);
  CREATE INDEX ledger_by_org ON ledger (org_id, seq);
  -- No stretch of time is charged twice.
  CREATE UNIQUE INDEX ledger_interval ON ledger (sandbox_id, from_ms) WHERE from_ms IS NOT NULL;
  CREATE TRIGGER ledger_stays BEFORE UPDATE ON ledger BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
  CREATE TRIGGER ledger_keeps BEFORE DELETE ON ledger BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;

  INSERT INTO accounts (id, org_id, available_micro_usd, held_micro_usd, spent_micro_usd)
    SELECT org_id, org_id,
      sum(CASE kind WHEN 'hold' THEN -amount_micro_usd WHEN 'release' THEN amount_micro_usd ELSE 0 END),
      sum(CASE kind WHEN 'hold' THEN amount_micro_usd ELSE -amount_micro_usd END),
      sum(CASE kind WHEN 'capture' THEN amount_micro_usd ELSE 0 END)
    FROM ledger GROUP BY org_id;

  CREATE INDEX keys_ending ON keys (expires_at_ms) WHERE expires_at_ms IS NOT NULL AND revoked_at_ms IS NULL;

  ALTER TABLE sandboxes ADD COLUMN account_id TEXT;
  ALTER TABLE sandboxes ADD COLUMN budget_micro_usd INTEGER;
  ALTER TABLE sandboxes ADD COLUMN held_micro_usd INTEGER NOT NULL DEFAULT 0 CHECK (held_micro_usd >= 0);
  -- Charged up to here, and paid for up to there.
  ALTER TABLE sandboxes ADD COLUMN metered_until_ms INTEGER;
  ALTER TABLE sandboxes ADD COLUMN covered_until_ms INTEGER;
  UPDATE sandboxes SET account_id = org_id, metered_until_ms = started_at_ms, covered_until_ms = expires_at_ms;
  UPDATE sandboxes SET held_micro_usd =
    (SELECT coalesce(sum(CASE kind WHEN 'hold' THEN amount_micro_usd ELSE -amount_micro_usd END), 0)
     FROM ledger WHERE ledger.sandbox_id = sandboxes.id);
  CREATE INDEX sandboxes_uncovered ON sandboxes (covered_until_ms)
    WHERE ended_at_ms IS NULL AND covered_until_ms < expires_at_ms;
`;
