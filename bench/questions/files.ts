import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Files } from "@sandboxer/contract";
import { command } from "../command.ts";
import { openEngine } from "../ours/engine.ts";
import { openGatewayProcess } from "../ours/gateway-process.ts";
import { closeDaemon, dockerVersion, LIVE, openDaemon } from "../peers/docker-daemon.ts";
import type { Question } from "../question.ts";
import { type Statistics, statistics } from "../statistics.ts";

const BYTES = 100 << 20;
const PART_BYTES = 1 << 20;
const INSIDE = "/tmp/hundred";

interface Way {
  in(): Promise<unknown>;
  out(): Promise<unknown>;
}

/** 100 MiB into a sandbox and out of it again, beside `docker cp`. */
export const question: Question = {
  size: 7,
  async ask(session, rounds) {
    const place = session.placeOf("files");
    const content = randomBytes(BYTES);
    const file = join(place.scratch, "hundred");
    writeFileSync(file, content);

    const engine = session.keep(await openEngine(session.placeOf("engine")));
    const gateway = session.keep(await openGatewayProcess(session.placeOf("gateway")));
    const sandbox = await gateway.client.sandboxes.create({ image: { kind: "rootfs", path: place.rootfs } });
    await dockerVersion();
    const { cli, host } = await openDaemon(session.placeOf("docker"));
    session.keep({ close: closeDaemon });
    const copy = (from: string, to: string) => command(cli, ["--host", host, "cp", from, to]);
    const ways: Record<string, Way> = {
      engine: wayOf((await engine.create()).files, content),
      http: wayOf(sandbox.files, content),
      // Not below /tmp, which is a tmpfs with us: docker cp sees only a container's layers.
      docker: {
        in: () => copy(file, `${LIVE}:/root/hundred`),
        out: () => copy(`${LIVE}:/root/hundred`, `${file}.back`),
      },
    };

    const samples = new Map<string, number[]>();
    for (let round = -1; round < rounds; round += 1) {
      for (const [name, way] of Object.entries(ways)) {
        for (const direction of ["in", "out"] as const) {
          session.signal.throwIfAborted();
          const begun = performance.now();
          await way[direction]();
          const key = `${name} ${direction}`;
          if (round >= 0) samples.set(key, [...(samples.get(key) ?? []), performance.now() - begun]);
        }
      }
      session.show(`round ${Math.max(0, round + 1)} of ${rounds}`);
    }
    const measures = Object.fromEntries([...samples].map(([name, each]) => [name, statistics(each)]));
    return {
      data: { bytes: BYTES, measures },
      lines: [
        "100 MiB, median ms and how many times docker's speed (goal ≥ 3)",
        ...Object.entries(measures).map(([name, one]) => describe(name, one, measures)),
      ],
    };
  },
};

function describe(name: string, one: Statistics, all: Record<string, Statistics>): string {
  const docker = all[name.replace(/^\w+/, "docker")];
  return `${name}: ${one.medianMs.toFixed(0)}, ${((docker?.medianMs ?? 0) / one.medianMs).toFixed(1)} ×`;
}

function wayOf(files: Files, content: Uint8Array): Way {
  return {
    in: () => files.write(INSIDE, parts(content)),
    async out() {
      let bytes = 0;
      for await (const part of (await files.read(INSIDE)).data) bytes += part.length;
      if (bytes !== BYTES) throw new Error(`${bytes} bytes came back`);
    },
  };
}

function* parts(content: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < content.length; at += PART_BYTES) yield content.subarray(at, at + PART_BYTES);
}
