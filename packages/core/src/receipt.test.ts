import { join } from "node:path";
import { receiptSchema, SandboxerError } from "@sandboxer/contract";
import { expect, it, onTestFinished } from "vitest";
import { openers } from "../test/gateway.ts";
import { refusal } from "../test/outcomes.ts";
import { createPlainExtension } from "../test/plain-extension.ts";

const { openGateway, temporaryFolder } = openers(onTestFinished);

const priced = (id: string, microUsdPerHour: number) =>
  createPlainExtension(join(temporaryFolder(), id), { id, price: { basis: "provisioned", microUsdPerHour } });

it("says where it ran and why, how long, what it cost and for whom", async () => {
  const [cheap, dear, beyond] = [
    priced("cheap", 3_600_000),
    priced("dear", 7_200_000),
    priced("beyond", 9_000_000),
  ];
  cheap.before.create = () => Promise.reject(new SandboxerError("capacity_exhausted", "full"));
  const { core, principal } = await openGateway([beyond, dear, cheap]);
  const { id } = await core.create(principal, {
    profile: "base",
    consumer: { kind: "agent", project: "shop", task: "42" },
    routing: { policy: "lowest-cost", maximumMicroUsdPerHour: 8_000_000 },
  });
  const living = await core.receipt(principal, id);
  expect(living.cost.heldMicroUsd).toBe(7_200_000);
  await new Promise((resolve) => setTimeout(resolve, 20));
  const ended = await core.destroy(principal, id);
  const receipt = await core.receipt(principal, id);
  expect(receiptSchema.parse(JSON.parse(JSON.stringify(receipt)))).toEqual(receipt);
  expect(receipt).toMatchObject({
    state: "destroyed",
    who: { principalId: principal.id, keyId: principal.keyId, consumer: { project: "shop" } },
    profile: { name: "base", version: 1 },
    where: { extensionId: "dear" },
    why: {
      policy: "lowest-cost",
      candidates: ["cheap", "dear"],
      rejected: [{ extensionId: "beyond", reason: expect.stringContaining("$8.00") }],
      attempts: [{ extensionId: "cheap", error: { code: "capacity_exhausted" } }, { extensionId: "dear" }],
    },
    cost: { microUsdPerHour: 7_200_000, chargedMicroUsd: ended.costMicroUsd, heldMicroUsd: 0 },
  });
  expect(receipt.cost.intervals.reduce((sum, { microUsd }) => sum + microUsd, 0)).toBe(ended.costMicroUsd);
  expect(receipt.when.ranMs).toBe(ended.endedAtMs! - ended.startedAtMs!);
});

it("has a receipt for what failed, and none for what is another's", async () => {
  const broken = priced("broken", 1);
  broken.before.create = () => Promise.reject(new SandboxerError("extension_failed", "no"));
  const { core, principal } = await openGateway([broken]);
  const error = await refusal(core.create(principal, {}), "extension_failed");
  const id = String(error.details.sandboxId);
  const receipt = await core.receipt(principal, id);
  expect(receipt).toMatchObject({ state: "failed", cost: { chargedMicroUsd: 0, heldMicroUsd: 0 } });
  expect(receipt).not.toHaveProperty("where");
  expect(receipt.why.attempts).toMatchObject([{ error: { code: "extension_failed" } }]);
  await refusal(core.receipt({ ...principal, orgId: "org_other" }, id), "not_found");
});

it("goes where an explicit route says, in its order, and nowhere when it names nothing", async () => {
  const { core, principal } = await openGateway([priced("one", 5), priced("two", 1)]);
  const routing = { policy: "explicit" } as const;
  const made = await core.create(principal, { routing, extensions: ["one", "two"] });
  expect(made.location?.extensionId).toBe("one");
  await refusal(core.create(principal, { routing }), "no_candidate");
});
