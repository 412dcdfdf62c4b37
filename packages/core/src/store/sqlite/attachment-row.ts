import { type Attachment, SandboxerError } from "@sandboxer/contract";
import type { NewAttachment } from "../attachment-store.ts";
import type { Connection } from "./open.ts";

export interface AttachmentRow {
  id: string;
  org_id: string;
  sandbox_id: string;
  principal_id: string;
  by_principal_id: string;
  implicit: 0 | 1;
  name: string | null;
  conversation: string | null;
  access: Attachment["access"];
  rules: string | null;
  secrets: string | null;
  uid: number | null;
  created_at_ms: number;
  detached_at_ms: number | null;
}

/** Above the ids that images give to people and daemons. */
const FIRST_UID = 20_000;

/** Within a write. */
export function insertAttachment({ prepare }: Connection, attachment: NewAttachment): Attachment {
  const { id, orgId, sandboxId, principalId, byPrincipalId, implicit, name, conversation } = attachment;
  const { access, rules, secrets, createdAtMs, ownUser = access === "read-only" } = attachment;
  if (name !== undefined) {
    const taken = prepare(
      "SELECT 1 FROM attachments WHERE org_id = ? AND principal_id = ? AND name = ? AND detached_at_ms IS NULL",
    ).get(orgId, principalId, name);
    if (taken) throw new SandboxerError("conflict", `an attachment named ${name} is there`);
  }
  const row = prepare(
    `INSERT INTO attachments (id, org_id, sandbox_id, principal_id, by_principal_id, implicit, name, conversation,
       access, rules, secrets, created_at_ms, uid) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
       iif(?, ? + (SELECT count(*) FROM attachments WHERE sandbox_id = ?), NULL)) RETURNING *`,
  ).get(
    id,
    orgId,
    sandboxId,
    principalId,
    byPrincipalId,
    implicit ? 1 : 0,
    name ?? null,
    conversation ?? null,
    access,
    rules ? JSON.stringify(rules) : null,
    secrets ? JSON.stringify(secrets) : null,
    createdAtMs,
    ownUser ? 1 : 0,
    FIRST_UID,
    sandboxId,
  );
  return toAttachment(row as unknown as AttachmentRow);
}

export function toAttachment(row: AttachmentRow): Attachment {
  return {
    id: row.id,
    sandboxId: row.sandbox_id,
    orgId: row.org_id,
    principalId: row.principal_id,
    ...(row.name !== null && { name: row.name }),
    ...(row.conversation !== null && { conversation: row.conversation }),
    access: row.access,
    ...(row.rules !== null && { rules: JSON.parse(row.rules) }),
    ...(row.secrets !== null && { secrets: JSON.parse(row.secrets) }),
    ...(row.uid !== null && { uid: row.uid }),
    byPrincipalId: row.by_principal_id,
    implicit: row.implicit === 1,
    createdAtMs: row.created_at_ms,
    ...(row.detached_at_ms !== null && { detachedAtMs: row.detached_at_ms }),
  };
}
