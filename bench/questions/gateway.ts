import { concurrently } from "../concurrently.ts";
import { openEngine } from "../ours/engine.ts";
import { openGatewayProcess } from "../ours/gateway-process.ts";
import type { Question } from "../question.ts";
import { statistics } from "../statistics.ts";

const CYCLES_AT_ONCE = 16;
const LIVE = 200;
/** A gateway serves for days: what its first requests cost while its code is compiled is not its cost. */
const WARM_UPS = 300;

/** The gateway in a process of its own: its start, what it adds to an exec, its throughput, its memory. */
export const question: Question = {
  size: 300,
  async ask(session, rounds) {
    const place = session.placeOf("gateway");
    // The first start fills the code cache, as an installation's first does.
    await (await openGatewayProcess(session.placeOf("first"))).close();
    const gateway = session.keep(await openGatewayProcess(place));
    const engine = session.keep(await openEngine(session.placeOf("engine")));
    const { signal } = session;
    const body = { image: { kind: "rootfs", path: place.rootfs }, ttlMs: 900_000 } as const;
    const create = () => gateway.client.sandboxes.create(body);

    const [box, sandbox] = [await engine.create(), await create()];
    const samples = { engine: [] as number[], http: [] as number[] };
    for (let round = -WARM_UPS; round < rounds; round += 1) {
      signal.throwIfAborted();
      const begun = performance.now();
      await engine.runTrue(box);
      const between = performance.now();
      await sandbox.run(["true"]);
      if (round < 0) continue;
      samples.engine.push(between - begun);
      samples.http.push(performance.now() - between);
    }
    const exec = { engine: statistics(samples.engine), http: statistics(samples.http) };

    const cycle = async () => {
      const one = await create();
      await one.run(["true"]);
      await one.destroy();
    };
    await concurrently(WARM_UPS, CYCLES_AT_ONCE, signal, cycle);
    const cyclesPerSecond = rounds / (await concurrently(rounds, CYCLES_AT_ONCE, signal, cycle));

    await concurrently(LIVE, CYCLES_AT_ONCE, signal, async () => void (await create()));
    const residentMiB = gateway.residentMiB();
    const addsMs = exec.http.medianMs - exec.engine.medianMs;
    return {
      data: { readyMs: gateway.readyMs, exec, addsMs, cyclesPerSecond, residentMiB, live: LIVE },
      lines: [
        `ready ${gateway.readyMs.toFixed(0)} ms after its start (goal < 1000)`,
        `exec: engine ${exec.engine.medianMs.toFixed(2)} ms, over HTTP ${exec.http.medianMs.toFixed(2)} ms: adds ${addsMs.toFixed(2)} (goal ≤ 1)`,
        `${cyclesPerSecond.toFixed(0)} cycles a second, ${CYCLES_AT_ONCE} at once (goal ≥ 100)`,
        `${residentMiB.toFixed(0)} MiB resident with ${LIVE} live sandboxes (goal < 150)`,
      ],
    };
  },
};
