import type { RequestListener } from "node:http";
import { DEFAULT_RESOURCES, newRowId, newSandboxId, type SandboxSpec } from "@sandboxer/contract";
import { expect, it, onTestFinished, vi } from "vitest";
import { toldDaemon } from "../../test/told-daemon.ts";
import { createDockerExtension } from "./extension.ts";

const SPEC: SandboxSpec = {
  schema: 1,
  image: { kind: "host" },
  isolation: "process",
  persistence: "ephemeral",
  network: { egress: "deny" },
  resources: DEFAULT_RESOURCES,
  limits: "best-effort",
  env: {},
  labels: {},
  ttlMs: 900_000,
};
const context = { installationId: newRowId("ins"), orgId: newRowId("org") };

const extensionOn = async (answer: RequestListener) => createDockerExtension(await toldDaemon(answer));

it.each([
  ["knows none of that name", 404, { message: "No such container" }, "not_found"],
  ["has it, and it is over", 200, { State: { Running: false } }, "not_found"],
  ["has trouble of its own", 500, { message: "layer store is locked" }, "extension_failed"],
  ["says something else", 200, "starting", "extension_failed"],
])("RE-4 takes a sandbox for gone only when the daemon says so: it %s", async (_, status, body, code) => {
  const extension = await extensionOn((_, answer) => {
    answer.writeHead(status);
    answer.end(JSON.stringify(body));
  });
  await expect(extension.attach(newSandboxId(), context)).rejects.toMatchObject({ code });
});

it("RE-4 lists the others while the daemon removes one, whose name is gone already", async () => {
  const ref = newSandboxId();
  const labels = (sandboxId: string) => ({
    "dev.sandboxer.sandbox": sandboxId,
    "dev.sandboxer.created-at-ms": "1",
  });
  const containers = [
    { State: "running", Names: null, Labels: labels(newSandboxId()) },
    { State: "running", Names: [`/sandboxer-${ref}`], Labels: labels(ref) },
  ];
  const extension = await extensionOn((_, answer) => void answer.end(JSON.stringify(containers)));
  expect((await extension.list(context)).map((box) => box.ref)).toEqual([ref]);
});

it("RE-6 gives a daemon time that copies an image before it has made a container", async () => {
  const { promise: asked, resolve: hear } = Promise.withResolvers<() => void>();
  const extension = await extensionOn((_, answer) => {
    answer.statusCode = 500;
    hear(() => answer.end('{"message":"copied"}'));
  });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const image = { kind: "oci", ref: "made:1" } as const;
  const creating = extension.create({ ...SPEC, image }, { ...context, sandboxId: newSandboxId() });
  const refused = expect(creating).rejects.toMatchObject({
    code: "extension_failed",
    message: expect.stringContaining("copied"),
  });
  const answer = await asked;
  await vi.advanceTimersByTimeAsync(300_000);
  answer();
  await refused;
});
