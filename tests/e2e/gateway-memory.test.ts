import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient, type Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "../conformance/remove-engine.ts";
import { cliOf, end, firstLine } from "./cli-process.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 180_000 });

const MIB = 1 << 20;
const AMOUNT = 256 * MIB;
/** Far below what passes through, far above what a garbage collector leaves for later. */
const MOST_GROWTH_MIB = 128;

describe("the gateway's memory, as the host sees it", () => {
  let home: string;
  let gateway: ChildProcess;
  let sandbox: Sandbox;
  let peakMiB = 0;
  const residentMiB = () => {
    const status = readFileSync(`/proc/${gateway.pid}/status`, "utf8");
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
  };
  /** What the work adds at its peak. */
  const growthOf = async (work: () => Promise<void>) => {
    const before = residentMiB();
    peakMiB = before;
    const timer = setInterval(() => {
      peakMiB = Math.max(peakMiB, residentMiB());
    }, 20);
    await work().finally(() => clearInterval(timer));
    return peakMiB - before;
  };

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "sandboxer-memory-"));
    gateway = cliOf(home).start(["up", "--port", "0", "--json", "--log-file", "/dev/null"]);
    const { url, apiKey } = JSON.parse(await firstLine(gateway)) as { url: string; apiKey: string };
    sandbox = await createClient({ url, apiKey }).sandboxes.create();
    // Warm, so that growth is the transfer's own.
    await sandbox.run(["head", "-c", String(8 * MIB), "/dev/zero"], { limitBytes: 0 });
  }, 300_000);
  afterAll(async () => {
    await sandbox?.destroy();
    if (gateway) await end(gateway, "SIGTERM");
    await removeEngine(join(home, "engine"), home);
  }, 300_000);

  it("stays flat while 256 MiB go in", async () => {
    const part = new Uint8Array(MIB);
    async function* source() {
      for (let sent = 0; sent < AMOUNT; sent += MIB) yield part;
    }
    const growth = await growthOf(async () => {
      expect(await sandbox.files.write("/dev/shm/big", source())).toBe(AMOUNT);
    });
    expect(growth).toBeLessThan(MOST_GROWTH_MIB);
  });

  it("stays flat while 256 MiB come out, as a file and as an archive", async () => {
    const { stdout } = await sandbox.run(["stat", "-c", "%s", "/dev/shm/big"]);
    expect(Number(new TextDecoder().decode(stdout)), "control: it is there").toBe(AMOUNT);
    const growth = await growthOf(async () => {
      for (const data of [
        (await sandbox.files.read("/dev/shm/big")).data,
        await sandbox.files.pack("/dev/shm"),
      ]) {
        let length = 0;
        for await (const part of data) length += part.length;
        expect(length).toBeGreaterThanOrEqual(AMOUNT);
      }
    });
    expect(growth).toBeLessThan(MOST_GROWTH_MIB);
  });

  it("RL-6 stays flat while output floods that nobody reads", async () => {
    const growth = await growthOf(async () => {
      const flood = await sandbox.exec({ argv: ["sh", "-c", "yes & yes >&2"] });
      const reader = flood.events[Symbol.asyncIterator]();
      await reader.next();
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      expect(new TextDecoder().decode((await sandbox.run(["echo", "here"])).stdout)).toBe("here\n");
      await flood.signal("KILL");
      flood.detach();
    });
    expect(growth).toBeLessThan(MOST_GROWTH_MIB);
  });
});
