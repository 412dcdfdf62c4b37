import { CASES } from "@sandboxer/contract/conformance/cases";
import { openDirect } from "./direct.ts";

/** Runs as a program of its own under another uid, and prints one line of JSON per case. */
const subject = await openDirect();
const sandbox = await subject.create();
for (const { name, run } of Object.values(CASES).flat()) {
  const failure = await run({ subject, sandbox }).then(
    () => undefined,
    (error: Error) => `${error.message}${error.cause ? ` (${error.cause})` : ""}`,
  );
  console.log(JSON.stringify({ name, failure }));
}
await subject.destroy(sandbox.id);
await subject.close();
