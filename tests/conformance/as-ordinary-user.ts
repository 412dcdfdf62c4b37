import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newSandboxId, SandboxerError } from "@sandboxer/contract";
import { CASES } from "@sandboxer/contract/conformance/cases";
import { createLocalExtension } from "@sandboxer/extensions/local";
import { openDirect, PLAIN_SPEC } from "./direct.ts";
import { removeEngine } from "./remove-engine.ts";

/** Runs as a program of its own under another uid, and prints one line of JSON per case of the groups it is given, or of all. */
const groups = process.argv.slice(2);
const cases = Object.entries(CASES).flatMap(([group, its]) =>
  groups.length === 0 || groups.includes(group) ? its : [],
);

const subject = await openDirect();
// Emulated, the suite takes longer than the usual end.
const sandbox = await subject.create({ ttlMs: 900_000 });
for (const { name, run } of cases) {
  const outcome = await run({ subject, sandbox }).then(
    () => ({}),
    (error: Error) => ({
      failure: `${error.message}${error.cause ? ` (${error.cause})` : ""}`,
      code: SandboxerError.from(error).code,
    }),
  );
  console.log(JSON.stringify({ name, ...outcome }));
}
for (const id of await subject.list()) await subject.destroy(id);
await subject.close();

/** What is not in force for this user, and what becomes of a request that requires it. */
const dir = await mkdtemp(join(tmpdir(), "sandboxer-table-"));
const extension = createLocalExtension({ dir });
const context = { installationId: "ins_table", orgId: "org_table" };
const box = await extension.create(PLAIN_SPEC, { ...context, sandboxId: newSandboxId() });
const refusal = await extension
  .create({ ...PLAIN_SPEC, limits: "required" }, { ...context, sandboxId: newSandboxId() })
  .then(
    ({ ref }) => extension.destroy(ref, context),
    (error) => ({ code: error.code, message: error.message }),
  );
console.log(JSON.stringify({ bestEffort: box.bestEffort, refusal }));
box.close();
await extension.destroy(box.ref, context);
await extension.close();
await removeEngine(dir);
