import type { Core } from "@sandboxer/core";
import { createLiveConnections } from "./live-connections.ts";
import { createLiveProcesses } from "./live-processes.ts";
import type { Ground } from "./rest/route.ts";
import { ROUTES } from "./rest/table.ts";

/** What every way in works with, for one gateway. */
export function createGround(core: Core, previews: Ground["previews"]): Ground {
  return {
    core,
    previews,
    processes: createLiveProcesses(core),
    connections: createLiveConnections(),
    routes: ROUTES,
  };
}
