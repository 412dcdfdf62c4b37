import type { Box } from "@sandboxer/contract";
import { concurrently } from "../concurrently.ts";
import { openEngine } from "../ours/engine.ts";
import type { Question } from "../question.ts";

const CREATES_AT_ONCE = 8;

/** How many sandboxes the engine makes, uses and ends in a second. */
export const question: Question = {
  size: 400,
  async ask(session, count) {
    const engine = session.keep(await openEngine(session.placeOf("engine")));
    const boxes: Box[] = [];
    const { signal } = session;
    await concurrently(40, CREATES_AT_ONCE, signal, async () => engine.destroy(await engine.create()));
    const createS = await concurrently(count, CREATES_AT_ONCE, signal, async () => {
      boxes.push(await engine.create());
    });
    const execS = await concurrently(count, CREATES_AT_ONCE, signal, async (index) => {
      const box = boxes[index];
      if (box) await engine.runTrue(box);
    });
    const destroyS = await concurrently(count, CREATES_AT_ONCE, signal, async (index) => {
      const box = boxes[index];
      if (box) await engine.destroy(box);
    });
    const perSecond = { create: count / createS, exec: count / execS, destroy: count / destroyS };
    return {
      data: { count, concurrency: CREATES_AT_ONCE, perSecond },
      lines: [
        `${count} of each, ${CREATES_AT_ONCE} at once, in a second:`,
        ...Object.entries(perSecond).map(([name, rate]) => `${name}: ${rate.toFixed(0)}`),
        "(goal: create ≥ 200)",
      ],
    };
  },
};
