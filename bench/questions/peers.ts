import { measure } from "../measure.ts";
import { cli } from "../ours/cli.ts";
import { gateway, gatewayWithoutPool } from "../ours/gateway.ts";
import { localEngine } from "../ours/local-engine.ts";
import { bubblewrap } from "../peers/bubblewrap.ts";
import { docker } from "../peers/docker.ts";
import { dockerApi } from "../peers/docker-api.ts";
import { gvisor } from "../peers/gvisor.ts";
import { runc } from "../peers/runc.ts";
import { sandboxRuntime } from "../peers/sandbox-runtime.ts";
import { spawnTrue } from "../peers/spawn.ts";
import type { Question } from "../question.ts";
import { absences, goals, stages, table } from "../table.ts";

const OURS = [localEngine, gateway, gatewayWithoutPool, cli];
const PEERS = [spawnTrue, bubblewrap, sandboxRuntime, runc, gvisor, dockerApi, docker];
const WARM_UPS = 3;

/** Us beside the peers: a whole cycle, and a command in a sandbox that lives. */
export const question: Question = {
  size: 30,
  async ask(session, rounds) {
    const results = await measure([...OURS, ...PEERS], {
      rounds,
      warmUps: WARM_UPS,
      signal: session.signal,
      placeOf: ({ name }) => session.placeOf(name),
      onOpen: (one) => void session.keep(one),
      onRound: (done) => session.show(`round ${done} of ${rounds}`),
    });
    return {
      data: { rounds, warmUps: WARM_UPS, results },
      lines: [
        `median / p95 in ms of ${rounds} interleaved rounds; no pool but what sandboxer up keeps\n\n${table(results)}\n`,
        ...stages(results),
        ...goals(results),
        ...absences(results),
      ],
    };
  },
};
