import {
  type AttachBody,
  type Attachment,
  attachedSchema,
  attachmentListSchema,
  attachmentSchema,
} from "@sandboxer/contract";
import { openSandbox, type Sandbox } from "./sandbox.ts";
import type { Once, Transport } from "./transport.ts";

export interface Attachments {
  /** An agent or a conversation in a sandbox: a fresh, a chosen or a shared one. */
  attach(body: AttachBody, once?: Once): Promise<{ attachment: Attachment; sandbox: Sandbox }>;
  /** Those of one sandbox, also who left. */
  list(idOrName: string): Promise<readonly Attachment[]>;
  /** The last to leave puts the sandbox to sleep. */
  detach(attachmentId: string): Promise<Attachment>;
}

export function openAttachments(transport: Transport): Attachments {
  return {
    async attach(body, once) {
      const { attachment, sandbox } = await transport.ask(attachedSchema, "POST", "/v1/attachments", {
        json: body,
        once,
      });
      // The handle acts through it only where it is the caller's own; another's is not for it to use.
      return { attachment, sandbox: openSandbox(transport, sandbox) };
    },
    async list(idOrName) {
      const path = `/v1/sandboxes/${encodeURIComponent(idOrName)}/attachments`;
      return (await transport.ask(attachmentListSchema, "GET", path)).attachments;
    },
    detach(attachmentId) {
      const path = `/v1/attachments/${encodeURIComponent(attachmentId)}`;
      return transport.ask(attachmentSchema, "DELETE", path);
    },
  };
}
