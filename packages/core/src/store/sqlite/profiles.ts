import { type PublishedProfile, SandboxerError } from "@sandboxer/contract";
import type { ProfileStore } from "../profile-store.ts";
import { appendEvent } from "./events.ts";
import { claimOnce } from "./idempotency.ts";
import type { Connection } from "./open.ts";

interface ProfileRow {
  name: string;
  version: number;
  digest: string;
  profile: string;
  resolved: string;
  published_at_ms: number;
  deprecated_at_ms: number | null;
}

export function profileCommands(connection: Connection): ProfileStore {
  const { prepare, write } = connection;
  return {
    async listProfiles(orgId) {
      const rows = prepare("SELECT * FROM profiles WHERE org_id = ? ORDER BY rowid").all(orgId);
      return (rows as unknown as ProfileRow[]).map(toProfile);
    },

    async publishProfile({ orgId, principalId, published }, claim) {
      return write(() => {
        claimOnce(connection, claim, { answer: JSON.stringify(published) });
        const { name, version, digest, profile, resolved, publishedAtMs: atMs } = published;
        if (
          prepare("SELECT 1 FROM profiles WHERE org_id = ? AND name = ? AND version = ?").get(
            orgId,
            name,
            version,
          )
        ) {
          throw new SandboxerError("conflict", `${name}@${version} was published meanwhile`, {
            hint: "Publish again; it becomes the version after that.",
          });
        }
        prepare(
          `INSERT INTO profiles (org_id, name, version, digest, profile, resolved, published_at_ms)
           VALUES (?, ?, ?, ?, ?, ?, ?)`,
        ).run(orgId, name, version, digest, JSON.stringify(profile), JSON.stringify(resolved), atMs);
        const data = { name, version, digest };
        appendEvent(connection, { type: "profile.published", orgId, atMs, principalId, data });
        return published;
      });
    },

    async deprecateProfile({ orgId, principalId, name, version, atMs }) {
      return write(() => {
        const where = "WHERE org_id = ? AND name = ? AND version = ?";
        const changed = prepare(
          `UPDATE profiles SET deprecated_at_ms = ? ${where} AND deprecated_at_ms IS NULL RETURNING name`,
        ).get(atMs, orgId, name, version);
        if (changed) {
          const data = { name, version };
          appendEvent(connection, { type: "profile.deprecated", orgId, atMs, principalId, data });
        }
        const row = prepare(`SELECT * FROM profiles ${where}`).get(orgId, name, version);
        return row && toProfile(row as unknown as ProfileRow);
      });
    },
  };
}

function toProfile(row: ProfileRow): PublishedProfile {
  return {
    name: row.name,
    version: row.version,
    digest: row.digest,
    profile: JSON.parse(row.profile),
    resolved: JSON.parse(row.resolved),
    builtIn: false,
    publishedAtMs: row.published_at_ms,
    ...(row.deprecated_at_ms !== null && { deprecatedAtMs: row.deprecated_at_ms }),
  };
}
