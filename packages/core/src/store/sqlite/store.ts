import type { Store } from "../store.ts";
import { approvalCommands } from "./approvals.ts";
import { attachmentCommands } from "./attachments.ts";
import { budgetCommands } from "./budgets.ts";
import { creatingCommands } from "./creating.ts";
import { decidingCommands } from "./deciding.ts";
import { endingCommands } from "./ending.ts";
import { eventCommands } from "./events.ts";
import { fromSqlite, inOurWords } from "./failure.ts";
import { forsakingCommands } from "./forsaking.ts";
import { idempotencyCommands } from "./idempotency.ts";
import { keyCommands } from "./keys.ts";
import { ledgerCommands } from "./ledger.ts";
import { networkCommands } from "./networks.ts";
import { type Connection, type OpenOptions, openConnection } from "./open.ts";
import { orgCommands } from "./orgs.ts";
import { pausingCommands } from "./pausing.ts";
import { profileCommands } from "./profiles.ts";
import { reusingCommands } from "./reusing.ts";
import { rootKeyCommands } from "./root-key.ts";
import { sandboxCommands } from "./sandboxes.ts";
import { secretGrantCommands } from "./secret-grants.ts";
import { secretCommands } from "./secrets.ts";
import { unfinishedCommands } from "./unfinished.ts";
import { volumeCommands } from "./volumes.ts";
import { webhookCommands } from "./webhooks.ts";

/** The embedded store: one file, no server. Several processes of one machine may share it. */
export function openSqliteStore(path: string, options?: OpenOptions): Store {
  const connection = open(path, options);
  return inOurWords({
    ...keyCommands(connection),
    ...rootKeyCommands(connection),
    ...orgCommands(connection),
    ...idempotencyCommands(connection),
    ...creatingCommands(connection),
    ...reusingCommands(connection),
    ...pausingCommands(connection),
    ...networkCommands(connection),
    ...endingCommands(connection),
    ...sandboxCommands(connection),
    ...unfinishedCommands(connection),
    ...attachmentCommands(connection),
    ...forsakingCommands(connection),
    ...eventCommands(connection),
    ...profileCommands(connection),
    ...webhookCommands(connection),
    ...secretCommands(connection),
    ...secretGrantCommands(connection),
    ...volumeCommands(connection),
    ...approvalCommands(connection),
    ...decidingCommands(connection),
    ...budgetCommands(connection),
    ...ledgerCommands(connection),
    close: () => connection.close(),
  });
}

function open(path: string, options: OpenOptions | undefined): Connection {
  try {
    return openConnection(path, options);
  } catch (error) {
    throw fromSqlite(error);
  }
}
