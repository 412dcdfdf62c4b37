import { join } from "node:path";
import { type Principal, SandboxerError } from "@sandboxer/contract";
import { expect, it, onTestFinished } from "vitest";
import { openers } from "../test/gateway.ts";
import { refusal } from "../test/outcomes.ts";
import { createPlainExtension } from "../test/plain-extension.ts";

const { openGateway, temporaryFolder } = openers(onTestFinished);

async function openPausing() {
  const plain = createPlainExtension(join(temporaryFolder(), "plain"), { facets: ["pause"] });
  const gateway = await openGateway([plain]);
  const { id } = await gateway.core.create(gateway.principal, {});
  return { ...gateway, plain, id, ref: `box-${id}` };
}

it("pauses and resumes, twice without complaint, and logs each once", async () => {
  const { core, principal, store, plain, id, ref } = await openPausing();
  expect(await core.pause(principal, id)).toMatchObject({ state: "paused", pauseDepth: "memory" });
  expect(plain.paused.has(ref)).toBe(true);
  expect((await core.pause(principal, id)).state).toBe("paused");
  await refusal(core.exec(principal, id, { argv: ["true"] }), "invalid_state");
  const running = await core.resume(principal, id);
  expect(running.state).toBe("running");
  expect(running.pauseDepth).toBeUndefined();
  expect((await core.resume(principal, id)).state).toBe("running");
  const types = (await store.listEvents(principal.orgId, 0, 100)).map(({ type }) => type);
  expect(types.filter((type) => /paused|resumed/.test(type))).toEqual(["sandbox.paused", "sandbox.resumed"]);
});

it("ends a paused sandbox, which is then no longer paused", async () => {
  const { core, principal, id } = await openPausing();
  await core.pause(principal, id);
  const ended = await core.destroy(principal, id);
  expect(ended.state).toBe("destroyed");
  expect(ended.pauseDepth).toBeUndefined();
  await refusal(core.pause(principal, id), "sandbox_gone");
});

it("writes down what it finds after a crash between the deed and its commit", async () => {
  const { principal, plain, id, ref, restart } = await openPausing();
  plain.paused.add(ref);
  const after = await restart();
  await after.start();
  expect((await after.get(principal, id)).state).toBe("paused");
  plain.paused.delete(ref);
  const again = await restart();
  await again.start();
  expect((await again.get(principal, id)).state).toBe("running");
});

it("is unsupported where the manifest does not list it, and denied to who may not", async () => {
  const { core, principal } = await openGateway();
  const { id } = await core.create(principal, {});
  await refusal(core.pause(principal, id), "unsupported");
  await refusal(core.metrics(principal, id), "unsupported");
  const reader: Principal = { ...principal, chain: [{ operations: ["sandbox.read"] }] };
  await refusal(core.pause(reader, id), "policy_denied");
  await refusal(core.resume(reader, id), "policy_denied");
});

it("takes no extension whose facets are not what its manifest says", async () => {
  const plain = createPlainExtension(join(temporaryFolder(), "plain"));
  const liar = { ...plain, manifest: { ...plain.manifest, facets: ["metrics" as const] } };
  await expect(openGateway([liar])).rejects.toSatisfy(SandboxerError.is);
});
