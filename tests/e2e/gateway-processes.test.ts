import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { collect, type Process } from "@sandboxer/contract";
import { type Gateway, openGateway, silent } from "@sandboxer/gateway";
import { createClient, type Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "../conformance/remove-engine.ts";

const { describe } = await requires("linux-userns", "boxd");

const bytes = (text: string) => new TextEncoder().encode(text);
const text = (data: Uint8Array) => new TextDecoder().decode(data);

async function untilOutput(process: Process): Promise<void> {
  for await (const event of process.events) if (event.type === "stdout") return;
}

describe("processes over HTTP", () => {
  let home: string;
  let gateway: Gateway;
  let sandbox: Sandbox;

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "sandboxer-processes-"));
    gateway = await openGateway({ home, listen: { host: "127.0.0.1", port: 0 }, log: silent });
    sandbox = await createClient({ url: gateway.url ?? "", apiKey: gateway.apiKey }).sandboxes.create();
  });
  afterAll(async () => {
    await sandbox?.destroy();
    await gateway?.close();
    await removeEngine(join(home, "engine"), home);
  });

  it("take input after their reader has left", async () => {
    const script = "echo ready; read a; read b; echo $a $b > got";
    const process = await sandbox.exec({ argv: ["sh", "-c", script], stdin: true });
    await untilOutput(process);
    await process.writeStdin(bytes("one\n"));
    await process.writeStdin(bytes("two\n"));
    await expect.poll(async () => text((await sandbox.run(["cat", "got"])).stdout)).toBe("one two\n");
  });

  it("take a signal while two read them", async () => {
    const process = await sandbox.exec({ argv: ["sleep", "60"] });
    const again = await sandbox.attachProcess(process.id);
    await process.signal("KILL");
    expect((await collect(again)).exit).toEqual({ kind: "signalled", signal: "KILL" });
    expect((await collect(process)).exit).toEqual({ kind: "signalled", signal: "KILL" });
  });

  it("do not stop when their output is nobody's", async () => {
    const script = "echo ready; read go; head -c 3000000 /dev/zero; echo done > flooded";
    const process = await sandbox.exec({ argv: ["sh", "-c", script], stdin: true });
    await untilOutput(process);
    await process.writeStdin(bytes("go\n"));
    await expect.poll(async () => text((await sandbox.run(["cat", "flooded"])).stdout)).toBe("done\n");
  });

  it("are not found where they never were", async () => {
    const process = await sandbox.exec({ argv: ["true"] });
    await collect(process);
    const path = `${gateway.url}/v1/sandboxes/${sandbox.id}/processes/no-such/signal`;
    const headers = { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" };
    const answer = await fetch(path, { method: "POST", headers, body: '{"signal":"TERM"}' });
    expect(answer.status).toBe(404);
    await answer.arrayBuffer();
  });

  it("are slowed down by a slow reader instead of filling the gateway", async () => {
    const before = process.memoryUsage().rss;
    const flood = await sandbox.exec({ argv: ["head", "-c", "400000000", "/dev/zero"] });
    await untilOutput(flood);
    const endless = await sandbox.exec({ argv: ["cat", "/dev/zero"] });
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(process.memoryUsage().rss - before).toBeLessThan(200 << 20);
    await endless.signal("KILL");
    expect((await collect(endless)).exit).toEqual({ kind: "signalled", signal: "KILL" });
  });
});
