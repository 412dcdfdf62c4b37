import type { Core } from "@sandboxer/core";
import { createLiveConnections } from "./live-connections.ts";
import { createLiveProcesses } from "./live-processes.ts";
import { createMeters } from "./observe/meters.ts";
import type { Ground } from "./rest/route.ts";
import { ROUTES } from "./rest/table.ts";

/** What every way in works with, for one gateway. */
export function createGround(core: Core, given: Pick<Ground, "previews" | "limits">): Ground {
  return {
    ...given,
    core,
    meters: createMeters(),
    processes: createLiveProcesses(core),
    connections: createLiveConnections(),
    routes: ROUTES,
  };
}
