import { collect } from "@sandboxer/contract";
import { expect, it, onTestFinished, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { rowsOf } from "./books.ts";
import { takeCensus } from "./census.ts";
import { startGateway } from "./gateway-process.ts";
import { expectNothingLeft, kill, makeHome } from "./home.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

/** More than a client gathers and every buffer on the way holds together: then the gateway has some of it. */
const HELD_PARTS = 256;
const PARTS = HELD_PARTS + 10;

const refusedOr = <T>(work: Promise<T>) => work.catch((error: { code?: string }) => `refused ${error.code}`);

describe("a gateway told to end under load", () => {
  it("RE-16 finishes what it has begun, takes nothing new, leaves with 0 and keeps sandboxes", async () => {
    const home = makeHome(onTestFinished);
    const first = await startGateway(home);
    const { sandboxes } = first.client;
    const sandbox = await sandboxes.create({ ttlMs: 60_000 });
    const script = "echo begun; read line; sleep 1; echo done";
    const commands = await Promise.all(
      Array.from({ length: 4 }, () => sandbox.exec({ argv: ["sh", "-c", script], stdin: true })),
    );
    await Promise.all(commands.map((command) => command.writeStdin(new TextEncoder().encode("\n"))));
    const { promise: isUnderWay, resolve: goesOut } = Promise.withResolvers<void>();
    const upload = sandbox.files.write("big", slowly(goesOut));
    const results = commands.map((command) => refusedOr(collect(command)));
    const creates = Array.from({ length: 6 }, (_, n) =>
      refusedOr(sandboxes.create({ name: `load-${n}`, ttlMs: 60_000 })),
    );
    await Promise.race(creates);
    await isUnderWay;

    const leaving = first.end("SIGTERM");
    await expect.poll(() => refusedOr(first.client.health())).toMatch(/refused/);
    for (const result of await Promise.all(results)) {
      expect(result).toMatchObject({ exit: { kind: "exited", code: 0 } });
    }
    expect(await upload).toBe(PARTS * 65_536);
    expect(await leaving).toBe(0);

    // Whoever was told of a sandbox has it; who was refused has none that runs unnoticed.
    const told = (await Promise.all(creates)).flatMap((one) => (typeof one === "string" ? [] : [one.id]));
    const second = await startGateway(home);
    const running = rowsOf(home)
      .filter(({ state }) => state === "running")
      .map(({ id }) => id);
    expect(running).toEqual(expect.arrayContaining([sandbox.id, ...told]));
    await expect.poll(() => [...takeCensus(home).boxes].sort()).toEqual(running.sort());
    for (const id of running) await (await second.client.sandboxes.get(id)).destroy();
    expect(await second.end("SIGTERM")).toBe(0);
    await expectNothingLeft(home);
  });

  it("RE-16 a second signal does not wait, and the next start puts right what that cut", async () => {
    const home = makeHome(onTestFinished);
    const first = await startGateway(home);
    const sandbox = await first.client.sandboxes.create({ ttlMs: 60_000 });
    const command = await sandbox.exec({ argv: ["sh", "-c", "echo up; sleep 50"] });
    const cut = collect(command).catch(() => "cut");
    kill(first.pid, "SIGTERM");
    await expect.poll(() => refusedOr(first.client.health())).toMatch(/refused/);
    expect(await first.end("SIGTERM")).toBe(1);
    expect(await cut).toBe("cut");
    const second = await startGateway(home);
    const again = await second.client.sandboxes.get(sandbox.id);
    expect(again.info.state).toBe("running");
    await again.destroy();
    expect(await second.end("SIGTERM")).toBe(0);
    await expectNothingLeft(home);
  });
});

/** An upload that is still under way when the gateway is told to end, and says when it has begun. */
async function* slowly(goesOut: () => void) {
  for (let part = 0; part < PARTS; part++) {
    yield new Uint8Array(65_536);
    if (part < HELD_PARTS) continue;
    goesOut();
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
