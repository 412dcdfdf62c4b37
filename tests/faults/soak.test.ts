import { readdirSync } from "node:fs";
import { expect, it, onTestFinished, vi } from "vitest";
import { readOrNothing } from "../capabilities/processes.ts";
import { requires } from "../capabilities/requires.ts";
import { startDoomed } from "./gateway-process.ts";
import { expectNothingLeft, kill, makeHome } from "./home.ts";
import { holdOf } from "./processes.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 180_000 });

const CYCLES = 300;
const EVERY = 15;

const descriptorsOf = (pid: number) => readdirSync(`/proc/${pid}/fd`).length;
const residentKiBOf = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(readOrNothing(`/proc/${pid}/status`))?.[1]);

/** How much the figures rise from one to the next, by least squares over their last four fifths. */
function slopeOf(all: readonly number[]): number {
  const figures = all.slice(Math.floor(all.length / 5));
  const middle = (figures.length - 1) / 2;
  const mean = figures.reduce((sum, figure) => sum + figure, 0) / figures.length;
  const spread = figures.reduce((sum, _, at) => sum + (at - middle) ** 2, 0);
  return figures.reduce((sum, figure, at) => sum + (at - middle) * (figure - mean), 0) / spread;
}

describe("many lives in a row", () => {
  it("FD-5 control: a slope is seen", () => {
    expect(slopeOf([5, 5, 5, 5, 5, 5, 5, 5])).toBe(0);
    expect(slopeOf([1, 2, 3, 4, 5, 6, 7, 8])).toBeCloseTo(1);
  });

  it("FD-5 RE-18 leave the gateway and hold as they were, and nothing else", async () => {
    const home = makeHome(onTestFinished);
    const gateway = await startDoomed(home, "never");
    const hold = holdOf(home) ?? 0;
    const figures: Figures[] = [];
    for (let cycle = 1; cycle <= CYCLES; cycle++) {
      const sandbox = await gateway.client.sandboxes.create({ ttlMs: 60_000 });
      await sandbox.run(["true"]);
      await sandbox.destroy();
      if (cycle % EVERY !== 0) continue;
      kill(gateway.pid, "SIGUSR2");
      await expect.poll(() => gateway.said().split("\n").length, { interval: 5 }).toBe(figures.length + 3);
      figures.push({
        ...JSON.parse(gateway.said().trim().split("\n").at(-1) ?? ""),
        gatewayDescriptors: await fewestDescriptorsOf(gateway.pid),
        holdDescriptors: await fewestDescriptorsOf(hold),
        holdKiB: residentKiBOf(hold),
      });
    }
    const risesOver = (name: keyof Figures) => slopeOf(figures.map((one) => one[name])) * (CYCLES / EVERY);
    const noise: Figures = {
      gatewayDescriptors: 2,
      holdDescriptors: 2,
      resources: 5,
      holdKiB: 256,
      heapKiB: 2_048,
    };
    for (const [name, most] of Object.entries(noise) as [keyof Figures, number][]) {
      const all = `${name}: ${figures.map((one) => one[name])}`;
      expect(Math.abs(risesOver(name)), all).toBeLessThanOrEqual(most);
    }
    expect(await gateway.end("SIGTERM")).toBe(0);
    await expectNothingLeft(home);
  });
});

/** What is made ahead and put away in between comes and goes; what leaks stays. */
async function fewestDescriptorsOf(pid: number): Promise<number> {
  let fewest = Number.POSITIVE_INFINITY;
  for (let look = 0; look < 10; look++) {
    fewest = Math.min(fewest, descriptorsOf(pid));
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return fewest;
}

interface Figures {
  readonly gatewayDescriptors: number;
  readonly holdDescriptors: number;
  /** Sockets, timers and requests that the gateway's event loop knows of. */
  readonly resources: number;
  readonly heapKiB: number;
  readonly holdKiB: number;
}
