import { measure } from "../measure.ts";
import { dockerExtension } from "../ours/docker-extension.ts";
import { docker } from "../peers/docker.ts";
import { dockerApi } from "../peers/docker-api.ts";
import type { Question } from "../question.ts";
import { absences, table } from "../table.ts";

const WARM_UPS = 2;

/** The docker extension beside docker itself, on one daemon. */
export const question: Question = {
  size: 15,
  async ask(session, rounds) {
    const results = await measure([dockerExtension, dockerApi, docker], {
      rounds,
      warmUps: WARM_UPS,
      signal: session.signal,
      placeOf: ({ name }) => session.placeOf(name),
      onOpen: (one) => void session.keep(one),
      onRound: (done) => session.show(`round ${done} of ${rounds}`),
    });
    const [ours, , peer] = results.map(({ measures }) => measures.exec?.medianMs);
    const times = ours && peer ? (peer / ours).toFixed(0) : "?";
    return {
      data: { rounds, warmUps: WARM_UPS, results },
      lines: [
        `median / p95 in ms of ${rounds} interleaved rounds\n\n${table(results)}\n`,
        `exec on the docker extension: ${times} × faster than docker exec (goal ≥ 10)`,
        ...absences(results),
      ],
    };
  },
};
