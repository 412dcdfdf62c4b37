import type { Sandbox } from "@sandboxer/sdk";
import { openGatewayProcess } from "../ours/gateway-process.ts";
import type { Question } from "../question.ts";

/** Each wants more than it may have, for as long as it is let. All of it in a busybox's words. */
const HOGS: Readonly<Record<string, string>> = {
  processes: "while :; do sleep 100 & done 2>/dev/null",
  memory:
    "while :; do dd if=/dev/zero of=/dev/null bs=512M count=1; head -c 512M /dev/zero | tail; done 2>/dev/null",
  "shared memory": "while :; do head -c 1G /dev/zero > /dev/shm/fill; rm /dev/shm/fill; done 2>/dev/null",
  disk: "while :; do head -c 4G /dev/zero > ~/fill; rm ~/fill; done 2>/dev/null",
  processor: "for i in 1 2 3 4 5 6 7 8; do while :; do :; done & done; wait",
  output: "cat /dev/zero",
};
const LIMITS = { cpus: 0.5, memoryMiB: 128, pids: 128, diskMiB: 256 };
const WARM_UPS = 200;

/** What a sandbox that takes all it can get costs another one, and the gateway's health. */
export const question: Question = {
  size: 200,
  async ask(session, samples) {
    const place = session.placeOf("hogs");
    const { client, url } = session.keep(await openGatewayProcess(place));
    const image = { kind: "rootfs", path: place.rootfs } as const;
    const sibling = await client.sandboxes.create({ image, ttlMs: 900_000 });
    const measure = async (count: number) => {
      const took = { health: [] as number[], exec: [] as number[] };
      for (let at = 0; at < count; at += 1) {
        session.signal.throwIfAborted();
        const begun = performance.now();
        await (await fetch(new URL("/health", url))).arrayBuffer();
        const between = performance.now();
        await sibling.run(["echo"]);
        took.health.push(between - begun);
        took.exec.push(performance.now() - between);
      }
      return { health: p99(took.health), exec: p99(took.exec) };
    };
    const beside = async (script: string) => {
      const hog: Sandbox = await client.sandboxes.create({ image, resources: LIMITS, ttlMs: 300_000 });
      // Nobody reads what it says.
      await hog.exec({ argv: ["sh", "-c", script] });
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      const measured = await measure(samples);
      await hog.destroy();
      return measured;
    };

    await measure(WARM_UPS);
    const alone = await measure(samples);
    const data: Record<string, typeof alone> = { alone };
    for (const [name, script] of Object.entries(HOGS)) {
      session.show(name);
      data[name] = await beside(script);
    }
    const { alone: _, ...hogs } = data;
    return {
      data: { samples, p99Ms: data },
      lines: [
        `alone: p99 of /health ${alone.health.toFixed(1)} ms, of a sibling's exec ${alone.exec.toFixed(1)} ms`,
        ...Object.entries(hogs).map(
          ([name, { health, exec }]) =>
            `beside a hog of ${name}: /health ${health.toFixed(1)} ms (goal < 250), exec ${exec.toFixed(1)} ms = ${(exec / alone.exec).toFixed(1)} × (goal < 2)`,
        ),
      ],
    };
  },
};

const p99 = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * 0.99) - 1] ?? 0;
