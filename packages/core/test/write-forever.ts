import { newRowId, newSandboxId } from "@sandboxer/contract";
import { openSqliteStore } from "../src/index.ts";
import { beginCreateOf, settleOf } from "./rows.ts";

/** Another gateway on the same file: makes and ends sandboxes until it is killed. */
const [path = "", orgId = ""] = process.argv.slice(2);
const store = openSqliteStore(path);
process.stdout.write("ready\n");
for (;;) {
  const sandboxId = newSandboxId();
  await store.beginCreate(beginCreateOf({ orgId, id: sandboxId, principalId: newRowId("prn") }));
  await store.settleCreate(settleOf(sandboxId));
  await store.beginDestroy({ sandboxId, ending: "destroyed", reason: "asked for", atMs: Date.now() });
  await store.finishDestroy({ sandboxId, atMs: Date.now() });
}
