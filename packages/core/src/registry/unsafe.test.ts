import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { openers } from "../../test/gateway.ts";
import { createPlainExtension } from "../../test/plain-extension.ts";
import { createCore } from "../create-core.ts";

const { openGateway, openStore, temporaryFolder } = openers(onTestFinished);

it("PO-3 a sandbox on an unsafe runtime, and its receipt, say so; without the operator's word there is none", async () => {
  const plain = createPlainExtension(temporaryFolder());
  plain.probeAnswer = async () => ({ status: "offer", findings: [], unsafe: ["runc 1.1.5 is below 1.3.6"] });
  const { store, principal } = await openGateway([plain], openStore(join(temporaryFolder(), "store.db")));
  const strict = await createCore({ store, extensions: [plain] });
  onTestFinished(() => strict.close());
  await expect(strict.create(principal, {})).rejects.toMatchObject({
    code: "no_candidate",
    message: expect.stringContaining("runc 1.1.5 is below 1.3.6"),
  });
  const tolerant = await createCore({ store, extensions: [plain], allowUnsafeRuntime: ["plain"] });
  onTestFinished(() => tolerant.close());
  const { id, bestEffort } = await tolerant.create(principal, {});
  const said = "unsafe runtime: runc 1.1.5 is below 1.3.6";
  expect(bestEffort).toContain(said);
  expect((await tolerant.receipt(principal, id)).why.bestEffort).toContain(said);
  const events = await tolerant.listEvents(principal, { limit: 1_000 });
  expect(
    events.find(({ type, sandboxId }) => type === "sandbox.created" && sandboxId === id)?.data,
  ).toMatchObject({ unsafe: [said] });
  await tolerant.destroy(principal, id);
});
