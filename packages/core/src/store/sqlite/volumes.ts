import { SandboxerError, type Volume } from "@sandboxer/contract";
import type { VolumeStore } from "../volume-store.ts";
import { appendEvent } from "./events.ts";
import { claimOnce } from "./idempotency.ts";
import type { Connection } from "./open.ts";

interface VolumeRow {
  id: string;
  org_id: string;
  principal_id: string;
  name: string;
  created_at_ms: number;
}

const SEEN = "org_id = ? AND instr(lineage, ?) > 0 AND forsaken_at_ms IS NULL";

export function volumeCommands(connection: Connection): VolumeStore {
  const { prepare, write } = connection;
  return {
    async addVolume({ id, orgId, principalId, lineage, name, createdAtMs }, claim) {
      write(() => {
        claimOnce(connection, claim, { ...(claim && { answer: claim.answer }) });
        const of = "org_id = ? AND principal_id = ? AND name = ? AND forsaken_at_ms IS NULL";
        if (prepare(`SELECT 1 FROM volumes WHERE ${of}`).get(orgId, principalId, name)) {
          throw new SandboxerError("conflict", `a volume named ${name} is there`);
        }
        const line = `/${[...new Set([...lineage, principalId])].join("/")}/`;
        prepare(
          `INSERT INTO volumes (id, org_id, principal_id, lineage, name, created_at_ms)
           VALUES (?, ?, ?, ?, ?, ?)`,
        ).run(id, orgId, principalId, line, name, createdAtMs);
        const data = { volumeId: id, name };
        appendEvent(connection, { type: "volume.created", orgId, atMs: createdAtMs, principalId, data });
      });
    },

    async getVolume(orgId, idOrName, { principalId }) {
      const row = prepare(
        `SELECT * FROM volumes WHERE ${SEEN} AND (id = ? OR name = ?)
         ORDER BY id = ? DESC, principal_id = ? DESC, created_at_ms LIMIT 1`,
      ).get(orgId, `/${principalId}/`, idOrName, idOrName, idOrName, principalId);
      return row && toVolume(row as unknown as VolumeRow);
    },

    async getVolumeById(id) {
      const row = prepare("SELECT * FROM volumes WHERE id = ? AND forsaken_at_ms IS NULL").get(id);
      return row && toVolume(row as unknown as VolumeRow);
    },

    async listVolumes(orgId, { principalId }) {
      const rows = prepare(`SELECT * FROM volumes WHERE ${SEEN} ORDER BY created_at_ms, id`).all(
        orgId,
        `/${principalId}/`,
      );
      return (rows as unknown as VolumeRow[]).map(toVolume);
    },

    async forsakeVolume({ id, orgId, principalId, atMs }) {
      write(() => {
        const users = prepare(
          `SELECT id FROM sandboxes WHERE org_id = ? AND ended_at_ms IS NULL AND instr(spec, ?) > 0`,
        ).all(orgId, `"${id}"`) as unknown as { id: string }[];
        if (users.length > 0) {
          const sandboxes = users.map((user) => user.id);
          throw new SandboxerError("conflict", `sandboxes work on it: ${sandboxes.slice(0, 8).join(", ")}`, {
            details: { sandboxes },
            hint: "End them first.",
          });
        }
        const gone = prepare(
          "UPDATE volumes SET forsaken_at_ms = ? WHERE id = ? AND forsaken_at_ms IS NULL RETURNING name",
        ).get(atMs, id);
        if (!gone) throw new SandboxerError("not_found", `no volume ${id}`);
        const data = { volumeId: id, name: gone.name };
        appendEvent(connection, { type: "volume.deleted", orgId, atMs, principalId, data });
      });
    },

    async forsakenVolumes() {
      const rows = prepare("SELECT id FROM volumes WHERE forsaken_at_ms IS NOT NULL").all();
      return (rows as unknown as { id: string }[]).map(({ id }) => id);
    },

    async dropVolume(id) {
      write(() => void prepare("DELETE FROM volumes WHERE id = ? AND forsaken_at_ms IS NOT NULL").run(id));
    },
  };
}

function toVolume({ id, org_id, principal_id, name, created_at_ms }: VolumeRow): Volume {
  return { id, orgId: org_id, principalId: principal_id, name, createdAtMs: created_at_ms };
}
