import { buildRoutes } from "./builds.ts";
import { lifecycleRoutes } from "./lifecycle.ts";
import { observeRoutes } from "./observe.ts";
import type { ControlRoute } from "./route.ts";
import { sandboxRoutes } from "./sandboxes.ts";
import { secretRoutes } from "./secrets.ts";
import { snapshotRoutes } from "./snapshots.ts";
import { tagRoutes } from "./tags.ts";
import { templateRoutes } from "./templates.ts";
import { volumeRoutes } from "./volumes.ts";

/** Every way in of E2B's control API. What is not here does not exist. */
export const CONTROL_ROUTES: readonly ControlRoute[] = [
  ...sandboxRoutes,
  ...lifecycleRoutes,
  ...observeRoutes,
  // Before those that would take `tags` for a template's name.
  ...tagRoutes,
  ...snapshotRoutes,
  ...templateRoutes,
  ...buildRoutes,
  ...volumeRoutes,
  ...secretRoutes,
];
