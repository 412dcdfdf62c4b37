import { command } from "../command.ts";
import type { Subject } from "../subject.ts";

/** No sandbox at all: the floor under every peer that is started as a process. */
export const spawnTrue: Subject = {
  name: "node spawn('/bin/true')",
  version: async () => process.version,
  open: async () => ({
    cycle: async () => {
      await command("/bin/true", []);
      return undefined;
    },
    close: async () => {},
  }),
};
