import { generateKeyPairSync } from "node:crypto";
import { join } from "node:path";
import type { CreateContext } from "@sandboxer/contract";
import { expect, it, onTestFinished } from "vitest";
import { openers } from "../../test/gateway.ts";
import { createPlainExtension } from "../../test/plain-extension.ts";
import { createCore } from "../create-core.ts";

const { openGateway, temporaryFolder } = openers(onTestFinished);

/** Two ways out: one that is light and shares what its boxes wrote, and one that is strong. */
async function open() {
  const { store, principal: root } = await openGateway();
  const asked: { readonly id: string; readonly layers: CreateContext["layers"]; readonly from?: string }[] =
    [];
  const made = (id: string, isolation: "container" | "microvm") => {
    const facets = ["snapshots", "stop"] as const;
    const extension = createPlainExtension(join(temporaryFolder(), id), {
      id,
      facets: [...facets],
      isolation: { class: isolation, technology: "none" },
    });
    const { create, stop } = extension;
    if (stop) Object.assign(stop, { freeze: async () => [`layer of ${id}`] });
    extension.create = (spec, context) => {
      asked.push({ id, layers: context.layers, ...(spec.from && { from: spec.from }) });
      return create(spec, context);
    };
    return extension;
  };
  const core = await createCore({
    store,
    extensions: [made("light", "container"), made("strong", "microvm")],
    trust: { unknown: "strongest", verified: "process", proofMs: 60_000 },
    snapshots: { dir: join(temporaryFolder(), "snapshots"), ...generateKeyPairSync("ed25519") },
  });
  onTestFinished(() => core.close());
  return { core, root, asked };
}

it("an agent nobody knows forks into the strongest there is, with what was in it and not with nothing", async () => {
  const { core, root, asked } = await open();
  const agent = await core.authenticate((await core.createKey(root, { kind: "agent" })).apiKey);
  const { id, location } = await core.create(root, { visibility: "org" });
  expect(location?.extensionId).toBe("light");
  const [own] = await core.fork(root, id);
  expect(own?.location?.extensionId, "control: who may be there shares its layers").toBe("light");
  expect(asked.at(-1)).toEqual({ id: "light", layers: ["layer of light"] });
  const [copy] = await core.fork(agent, id);
  expect(copy?.location?.extensionId).toBe("strong");
  expect(asked.at(-1), "layers of another mean nothing to it").toEqual({
    id: "strong",
    layers: undefined,
    from: expect.stringMatching(/^snp_/),
  });
});
