import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Sandbox } from "@e2b/code-interpreter";
import { afterAll, beforeAll, expect, it } from "vitest";
import { frameOf } from "../../apps/gateway/src/e2b/envd/frame.ts";
import { requires } from "../capabilities/requires.ts";
import { type Door, openDoor } from "./door.ts";

const { describe } = await requires("linux-userns", "boxd");

/** Nobody hears of these failures: the run itself reports what is thrown where nobody waits for it. */
describe("clients of E2B's that leave, or do not read", () => {
  let door: Door;

  beforeAll(async () => {
    door = await openDoor();
  });
  afterAll(() => door?.close());

  /** Asks for something, on a connection of its own. */
  async function ask(sandbox: Sandbox, path: string, port: number, body: Buffer): Promise<Socket> {
    const url = new URL(door.url);
    const { envdAccessToken: token } = sandbox as unknown as { readonly envdAccessToken: string };
    const isStream = path.startsWith("/filesystem.");
    const head = {
      host: url.host,
      "e2b-sandbox-id": sandbox.sandboxId,
      "e2b-sandbox-port": port,
      "x-access-token": token,
      "content-type": isStream ? "application/connect+json" : "application/json",
      "content-length": body.length,
    };
    const socket = connect(Number(url.port), url.hostname);
    await once(socket, "connect");
    const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`);
    await new Promise((resolve) =>
      socket.write(
        Buffer.concat([Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join("")}\r\n`), body]),
        resolve,
      ),
    );
    return socket;
  }
  const watch = (sandbox: Sandbox) =>
    ask(sandbox, "/filesystem.Filesystem/WatchDir", 49_983, frameOf(0, { path: "/tmp" }));
  const cell = (sandbox: Sandbox, code: string) =>
    ask(sandbox, "/execute", 49_999, Buffer.from(JSON.stringify({ code })));

  it("lets go of a watch whose client left before it began", async () => {
    const sandbox = await Sandbox.create(door.options);
    for (let at = 0; at < 10; at += 1) (await watch(sandbox)).resetAndDestroy();
    // One after the other, so those before it have been begun.
    await (await sandbox.files.watchDir("/tmp", () => {})).stop();
    await sandbox.kill();
    await sleep(100);
  });

  it("ends a cell whose client left before it began", async () => {
    const made = await Sandbox.create(door.options);
    const begun = Promise.withResolvers<void>();
    const held = `
import os, time
print("begun")
while not os.path.exists("/tmp/go"):
    try: time.sleep(0.05)
    except KeyboardInterrupt: pass`;
    const before = made.runCode(held, { onStdout: () => begun.resolve() }).catch(() => {});
    await begun.promise;
    // The next gateway begins nothing in this context until the cell of the one before is over.
    await door.gateway.close();
    await before;
    door = await openDoor(door.home);
    const sandbox = await Sandbox.connect(made.sandboxId, door.options);
    const socket = await cell(sandbox, "import time; time.sleep(600)");
    await sleep(500);
    socket.resetAndDestroy();
    await sleep(100);
    await sandbox.files.write("/tmp/go", "");
    expect((await sandbox.runCode("20 + 1")).text).toBe("21");
    await sandbox.kill();
  });

  it("outlives a sandbox that ends while a client does not read what its cell says", async () => {
    const sandbox = await Sandbox.create(door.options);
    const code = "import time; display('x' * (40 << 20)); time.sleep(600)";
    const socket = await cell(sandbox, code);
    await once(socket, "readable");
    await sleep(1_500);
    await sandbox.kill();
    await sleep(100);
    socket.resetAndDestroy();
  });
});
