import type { Subject } from "../subject.ts";
import { openEngine } from "./engine.ts";

export const localEngine: Subject = {
  name: "sandboxer: local engine",
  version: async () => "this tree",
  async open(place) {
    const engine = await openEngine(place);
    const live = await engine.create().catch(async (error) => {
      await engine.close();
      throw error;
    });
    return {
      cycle: async () => {
        const begun = performance.now();
        const box = await engine.create();
        const created = performance.now();
        await engine.runTrue(box);
        const ran = performance.now();
        await engine.destroy(box);
        return { create: created - begun, "first exec": ran - created, destroy: performance.now() - ran };
      },
      exec: () => engine.runTrue(live),
      close: async () => {
        live.close();
        await engine.close();
      },
    };
  },
};
