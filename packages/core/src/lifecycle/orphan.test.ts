import { newSandboxId } from "@sandboxer/contract";
import { expect, it, onTestFinished } from "vitest";
import { openers } from "../../test/gateway.ts";
import { createPlainExtension } from "../../test/plain-extension.ts";
import { createCore } from "../create-core.ts";

const { openGateway, openStore, temporaryFolder } = openers(onTestFinished);

it("stops a box that the store does not know, tells of it once, and ends it after a grace", async () => {
  const plain = createPlainExtension(temporaryFolder(), { facets: ["pause"] });
  const { core, store, principal } = await openGateway([plain], openStore());
  const installationId = await store.claimMeta("installation-id", "none");
  const { spec } = await core.create(principal, {});
  const [orphan, foreign] = [newSandboxId(), newSandboxId()];
  await plain.create(spec, { sandboxId: orphan, orgId: "org_gone", installationId });
  await plain.create(spec, { sandboxId: foreign, orgId: "org_gone", installationId: "ins_other" });
  let nowMs = 0;
  const clock = { nowMs: () => Date.now(), monotonicMs: () => nowMs };
  const later = await createCore({ store, extensions: [plain], clock, orphanGraceMs: 1_000 });
  onTestFinished(() => later.close());
  const boxes = async () => (await plain.list({ installationId })).map(({ sandboxId }) => sandboxId);
  const told = async () =>
    (await store.listEvents(installationId, 0, 50)).map(({ type, data }) => [type, data.sandboxId]);

  await later.start();
  await later.start();
  expect(await boxes()).toContain(orphan);
  expect([...plain.paused]).toEqual([`box-${orphan}`]);
  expect(await told()).toEqual([["sandbox.orphaned", orphan]]);
  nowMs = 1_000;
  await later.start();
  expect(await boxes()).not.toContain(orphan);
  expect(await boxes(), "another installation's").toContain(foreign);
  expect(await told()).toEqual([
    ["sandbox.orphaned", orphan],
    ["sandbox.destroyed", orphan],
  ]);
});
