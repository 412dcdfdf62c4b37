import {
  appliedSchema,
  type Changes,
  type Mirror,
  pointsSchema,
  rolledBackSchema,
  syncedSchema,
  workspaceChangeSchema,
} from "@sandboxer/contract";
import type { Transport } from "./transport.ts";
import { valuesOf } from "./values.ts";

/** The contract's Changes and Mirror, over HTTP. */
export function openChanges(transport: Transport, sandboxPath: string): Changes & Mirror {
  const at = (verb: string) => `${sandboxPath}/workspace/${verb}`;
  return {
    async changes(options = {}) {
      return valuesOf(await transport.send("POST", at("diff"), { json: options }), workspaceChangeSchema);
    },
    apply: (options = {}) => transport.ask(appliedSchema, "POST", at("apply"), { json: options }),
    rollback: (options = {}) => transport.ask(rolledBackSchema, "POST", at("rollback"), { json: options }),
    points: () => transport.ask(pointsSchema, "GET", at("points")),
    sync: () => transport.ask(syncedSchema, "POST", at("sync")),
  };
}
