import { createHash } from "node:crypto";
import type { Process } from "@sandboxer/contract";
import { expect, it, onTestFinished, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { initPidOf, namespacesOf, processesIn } from "../security/host-view.ts";
import { startGateway } from "./gateway-process.ts";
import { expectNothingLeft, makeHome } from "./home.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

const bytes = (text: string) => new TextEncoder().encode(text);

/** Reads until the output so far satisfies `enough`, and says where it stopped. */
async function readUntil(process: Process, enough: (text: string) => boolean) {
  let text = "";
  let offset: number | undefined;
  let next = 0;
  for await (const event of process.events) {
    if (event.type !== "stdout") break;
    offset ??= event.offset;
    text += new TextDecoder().decode(event.data);
    next = event.offset + event.data.length;
    if (enough(text)) break;
  }
  return { text, offset, next };
}

describe("kill -9 of the gateway in the middle of a stream", () => {
  it("RE-2 an interactive process goes on where its reader left it, and is still the only one", async () => {
    const home = makeHome(onTestFinished);
    const first = await startGateway(home);
    const sandbox = await first.client.sandboxes.create({ ttlMs: 60_000 });
    const script = "echo ready; while read line; do echo got $line; done; echo end";
    const process = await sandbox.exec({ argv: ["sh", "-c", script], stdin: true });
    await process.writeStdin(bytes("one\n"));
    const before = await readUntil(process, (text) => text.endsWith("got one\n"));
    expect(before.text).toBe("ready\ngot one\n");
    await first.end("SIGKILL");

    const inside = processesIn(namespacesOf(initPidOf(`${home}/engine`, sandbox.id)).pid ?? "");
    expect(inside, "init and the shell").toHaveLength(2);

    const second = await startGateway(home);
    const same = await second.client.sandboxes.get(sandbox.id);
    const again = await same.attachProcess(process.id, { stdout: before.next });
    await again.writeStdin(bytes("two\n"));
    await again.closeStdin();
    const after = await readUntil(again, (text) => text.endsWith("end\n"));
    expect(after).toEqual({ text: "got two\nend\n", offset: before.next, next: before.next + 12 });
    await same.destroy();
    expect(await second.end("SIGTERM")).toBe(0);
    await expectNothingLeft(home);
  });

  it("RE-2 a terminal goes on where its reader left it, with its size and its only shell", async () => {
    const home = makeHome(onTestFinished);
    const first = await startGateway(home);
    const sandbox = await first.client.sandboxes.create({ ttlMs: 60_000 });
    const script = "stty -echo; echo ready; while read line; do echo got $line; stty size; done";
    const pty = { cols: 101, rows: 33 };
    const process = await sandbox.exec({ argv: ["sh", "-c", script], stdin: true, pty });
    const before = await readUntil(process, (text) => text.includes("ready\r\n"));
    await first.end("SIGKILL");

    const second = await startGateway(home);
    const same = await second.client.sandboxes.get(sandbox.id);
    const again = await same.attachProcess(process.id, { stdout: before.next });
    await again.writeStdin(bytes("two\n"));
    const after = await readUntil(again, (text) => text.endsWith("33 101\r\n"));
    expect(after).toMatchObject({ text: "got two\r\n33 101\r\n", offset: before.next });
    const inside = () => processesIn(namespacesOf(initPidOf(`${home}/engine`, sandbox.id)).pid ?? "");
    await expect.poll(inside, { message: "init and the shell" }).toHaveLength(2);
    await same.destroy();
    expect(await second.end("SIGTERM")).toBe(0);
    await expectNothingLeft(home);
  });

  it("RE-2 what was read of a flood is its exact beginning, and the rest is said to begin where it does", async () => {
    const home = makeHome(onTestFinished);
    const first = await startGateway(home);
    const sandbox = await first.client.sandboxes.create({ ttlMs: 60_000 });
    const whole = Array.from({ length: 300_000 }, (_, index) => `${index + 1}\n`).join("");
    const process = await sandbox.exec({ argv: ["seq", "300000"] });
    const before = await readUntil(process, (text) => text.length > 100_000);
    expect(whole.startsWith(before.text)).toBe(true);
    await first.end("SIGKILL");

    const second = await startGateway(home);
    const same = await second.client.sandboxes.get(sandbox.id);
    const again = await same.attachProcess(process.id, { stdout: before.next });
    const after = await readUntil(again, (text) => text.endsWith("300000\n"));
    expect(after.offset).toBeGreaterThanOrEqual(before.next);
    expect(after.text).toBe(whole.slice(after.offset));
    await same.destroy();
    expect(await second.end("SIGTERM")).toBe(0);
    await expectNothingLeft(home);
  });

  it("RE-3 an upload is whole or absent, and what it was to replace is untouched", async () => {
    const home = makeHome(onTestFinished);
    const first = await startGateway(home);
    const sandbox = await first.client.sandboxes.create({ ttlMs: 60_000 });
    await sandbox.files.write("kept/old", only(bytes("old")), { parents: true });
    const { promise: killed, resolve: kill } = Promise.withResolvers<void>();
    async function* half() {
      // More than a client gathers and every buffer on the way holds together.
      for (let part = 0; part < 256; part++) yield new Uint8Array(65_536).fill(part);
      kill();
      await new Promise(() => {});
    }
    const uploads = ["kept/old", "kept/new"].map((path) =>
      sandbox.files.write(path, half()).catch(() => "cut"),
    );
    await killed;
    await first.end("SIGKILL");
    expect(await Promise.all(uploads)).toEqual(["cut", "cut"]);

    const second = await startGateway(home);
    const same = await second.client.sandboxes.get(sandbox.id);
    const listing = await same.run(["sh", "-c", "ls -A kept; cat kept/old"]);
    expect(new TextDecoder().decode(listing.stdout)).toBe("old\nold");
    // Control: the same upload to its end is there, byte for byte.
    const content = new Uint8Array(1 << 20).fill(7);
    await same.files.write("kept/new", only(content));
    const sum = await same.run(["sha256sum", "kept/new"]);
    const expected = createHash("sha256").update(content).digest("hex");
    expect(new TextDecoder().decode(sum.stdout).slice(0, 64)).toBe(expected);
    await same.destroy();
    expect(await second.end("SIGTERM")).toBe(0);
    await expectNothingLeft(home);
  });
});

async function* only(data: Uint8Array) {
  yield data;
}
