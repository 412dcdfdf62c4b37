import { type PublishedProfile, SandboxerError } from "@sandboxer/contract";
import type { ProfileStore } from "../profile-store.ts";
import { appendEvent } from "./events.ts";
import { claimOnce } from "./idempotency.ts";
import type { Connection } from "./open.ts";
import { seenBy } from "./visible.ts";

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
    async listProfiles(orgId, viewer) {
      const [team, lineage] = seenBy(viewer);
      const rows = prepare(
        `SELECT * FROM profiles WHERE org_id = ? AND (visibility = 'org' OR (visibility = 'team' AND team = ?)
           OR instr(lineage, ?) > 0) ORDER BY rowid`,
      ).all(orgId, team, lineage);
      return (rows as unknown as ProfileRow[]).map(toProfile);
    },

    async publishProfile({ orgId, principalId, published, lineage, team }, claim) {
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
          throw new SandboxerError("conflict", `there is a ${name}@${version} already`, {
            hint: "Publish again, or under another name: it may be one that you do not see.",
          });
        }
        prepare(
          `INSERT INTO profiles (org_id, name, version, digest, profile, resolved, published_at_ms, visibility,
             team, lineage) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        ).run(
          orgId,
          name,
          version,
          digest,
          JSON.stringify(profile),
          JSON.stringify(resolved),
          atMs,
          profile.visibility ?? "org",
          team ?? null,
          `/${lineage.join("/")}/`,
        );
        const data = { name, version, digest };
        appendEvent(connection, { type: "profile.published", orgId, atMs, principalId, data });
        return published;
      });
    },

    async coldStarts(orgId, digest, atMost) {
      const rows = prepare(
        `SELECT started_at_ms - created_at_ms AS ms FROM sandboxes WHERE org_id = ? AND profile IS NOT NULL
           AND json_extract(profile, '$.digest') = ? AND started_at_ms IS NOT NULL ORDER BY seq DESC LIMIT ?`,
      ).all(orgId, digest, atMost) as unknown as { ms: number }[];
      return rows.map(({ ms }) => ms);
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
