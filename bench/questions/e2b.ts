import { randomBytes } from "node:crypto";
import { Sandbox } from "e2b";
import { measure, type Result } from "../measure.ts";
import { e2b } from "../ours/e2b.ts";
import { e2bFloor } from "../ours/e2b-floor.ts";
import { openGatewayProcess } from "../ours/gateway-process.ts";
import { docker } from "../peers/docker.ts";
import type { Question } from "../question.ts";
import type { Session } from "../session.ts";
import { statistics } from "../statistics.ts";
import { absences, stages, table } from "../table.ts";

const WARM_UPS = 3;
const BYTES = 100 << 20;
const TRANSFERS = 7;

/** E2B's own client against this gateway, beside docker as people use it. */
export const question: Question = {
  size: 30,
  async ask(session, rounds) {
    const results = await measure([e2b, docker, e2bFloor], {
      rounds,
      warmUps: WARM_UPS,
      signal: session.signal,
      placeOf: ({ name }) => session.placeOf(name),
      onOpen: (one) => void session.keep(one),
      onRound: (done) => session.show(`round ${done} of ${rounds}`),
    });
    const speeds = await transfer(session);
    return {
      data: { rounds, warmUps: WARM_UPS, results, bytes: BYTES, speeds },
      lines: [
        `median / p95 in ms of ${rounds} interleaved rounds\n\n${table(results)}\n`,
        ...stages(results),
        `create + run + kill: ${times(results, "cycle")} × faster than docker run --rm (goal ≥ 20)`,
        `commands.run: ${times(results, "exec")} × faster than docker exec (goal ≥ 25)`,
        `100 MiB up ${speeds.up} MB/s, down ${speeds.down} MB/s, medians of ${TRANSFERS} (goal ≥ 200)`,
        ...absences(results),
      ],
    };
  },
};

function times(results: readonly Result[], name: string): string {
  const [ours, peer] = results.map(({ measures }) => measures[name]?.medianMs);
  return ours && peer ? (peer / ours).toFixed(1) : "?";
}

async function transfer(session: Session): Promise<{ up: number; down: number }> {
  const { url, apiKey } = session.keep(await openGatewayProcess(session.placeOf("transfer")));
  const sandbox = await Sandbox.create("base", { apiKey, apiUrl: url, sandboxUrl: url, timeoutMs: 900_000 });
  const content = randomBytes(BYTES);
  const samples = { up: [] as number[], down: [] as number[] };
  for (let round = 0; round <= TRANSFERS; round += 1) {
    session.signal.throwIfAborted();
    const begun = performance.now();
    await sandbox.files.write("/tmp/hundred", content.buffer, { useOctetStream: true });
    const sent = performance.now();
    const back = await sandbox.files.read("/tmp/hundred", { format: "bytes" });
    if (back.length !== BYTES) throw new Error(`${back.length} bytes came back`);
    if (round === 0) continue;
    samples.up.push(sent - begun);
    samples.down.push(performance.now() - sent);
  }
  const speed = (each: number[]) => Math.round(BYTES / 1_000 / statistics(each).medianMs);
  return { up: speed(samples.up), down: speed(samples.down) };
}
