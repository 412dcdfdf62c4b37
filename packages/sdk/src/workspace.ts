import {
  appliedSchema,
  type Changes,
  errorAnswerSchema,
  rolledBackSchema,
  type WorkspaceChange,
  workspaceChangeSchema,
} from "@sandboxer/contract";
import { fromJson, rebuild, strange } from "./failure.ts";
import { LineReader } from "./lines.ts";
import type { Transport } from "./transport.ts";

/** The contract's Changes, over HTTP. */
export function openChanges(transport: Transport, sandboxPath: string): Changes {
  const at = (verb: string) => `${sandboxPath}/workspace/${verb}`;
  return {
    async changes(options = {}) {
      return changesOf(await transport.send("POST", at("diff"), { json: options }));
    },
    apply: (options = {}) => transport.ask(appliedSchema, "POST", at("apply"), { json: options }),
    rollback: (options = {}) => transport.ask(rolledBackSchema, "POST", at("rollback"), { json: options }),
  };
}

async function* changesOf(response: Response): AsyncGenerator<WorkspaceChange> {
  if (!response.body) throw strange("the answer to diff has no body");
  const lines = new LineReader(response.body);
  try {
    for (;;) {
      const line = await lines.next();
      if (line === undefined) return;
      if (line !== "") yield changeOf(line);
    }
  } finally {
    await lines.cancel();
  }
}

function changeOf(line: string): WorkspaceChange {
  const value = fromJson(line);
  const change = workspaceChangeSchema.safeParse(value);
  if (change.success) return change.data;
  const failure = errorAnswerSchema.safeParse(value);
  if (failure.success) throw rebuild(failure.data.error);
  throw strange("a change is in a form this client does not know", change.error);
}
