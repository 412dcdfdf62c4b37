import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { newSandboxId } from "@sandboxer/contract";
import { expect, it, onTestFinished } from "vitest";
import { openers } from "../test/gateway.ts";
import { refusal } from "../test/outcomes.ts";
import { createPlainExtension } from "../test/plain-extension.ts";
import { beginCreateOf } from "../test/rows.ts";
import { createBoxes } from "./boxes.ts";

const { temporaryFolder } = openers(onTestFinished);

const context = { installationId: "ins_one" };

async function openBoxes() {
  const plain = createPlainExtension(join(temporaryFolder(), "plain"));
  const sandboxId = newSandboxId();
  const { spec } = beginCreateOf({ orgId: "org_one" }).sandbox;
  const { ref } = await plain.create(spec, { ...context, sandboxId, orgId: "org_one" });
  const boxes = createBoxes();
  return {
    plain,
    boxes,
    open: () => boxes.open(sandboxId, () => plain.attach(ref, context)),
    sandboxId,
    ref,
  };
}

it("attaches once for all who come together, and again after the connection is over", async () => {
  const { plain, open } = await openBoxes();
  const [one, two] = await Promise.all([open(), open()]);
  expect(one).toBe(two);
  expect(plain.calls.attach).toBe(1);
  one.close();
  await one.closed;
  await setImmediate();
  expect(await open()).not.toBe(one);
  expect(plain.calls.attach).toBe(2);
});

it("does not keep a failed attempt", async () => {
  const { plain, open, ref } = await openBoxes();
  plain.before.attach = () => Promise.reject(new Error("busy"));
  await expect(open()).rejects.toThrow("busy");
  delete plain.before.attach;
  expect((await open()).ref).toBe(ref);
  await plain.destroy(ref, context);
  await setImmediate();
  await refusal(open(), "not_found");
});
