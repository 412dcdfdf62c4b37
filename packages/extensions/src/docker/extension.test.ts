import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newRowId, newSandboxId } from "@sandboxer/contract";
import { expect, it, onTestFinished } from "vitest";
import { createDockerExtension } from "./extension.ts";

const context = { installationId: newRowId("ins"), orgId: newRowId("org") };

/** On a daemon that answers as it is told. */
async function extensionOn(answer: RequestListener) {
  const dir = mkdtempSync(join(tmpdir(), "sandboxer-fake-"));
  const socketPath = join(dir, "docker.sock");
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
    rmSync(dir, { recursive: true, force: true });
  });
  return createDockerExtension({ dir, socketPath });
}

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
