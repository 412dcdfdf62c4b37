import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** For what no real daemon does when it is asked to: one that answers as it is told, until the test is over. */
export async function toldDaemon(answer: RequestListener): Promise<{ dir: string; socketPath: string }> {
  const dir = mkdtempSync(join(tmpdir(), "sandboxer-told-"));
  const socketPath = join(dir, "docker.sock");
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
    rmSync(dir, { recursive: true, force: true });
  });
  return { dir, socketPath };
}
