import { buildRoutes } from "./builds.ts";
import { lifecycleRoutes } from "./lifecycle.ts";
import { logRoutes } from "./logs.ts";
import { metricRoutes } from "./metrics.ts";
import { networkRoutes } from "./network.ts";
import type { ControlRoute } from "./route.ts";
import { sandboxRoutes } from "./sandboxes.ts";
import { secretRoutes } from "./secrets.ts";
import { snapshotRoutes } from "./snapshots.ts";
import { tagRoutes } from "./tags.ts";
import { templateRoutes } from "./templates.ts";
import { volumeRoutes } from "./volumes.ts";

/** Every way in of E2B's control API. What is not here does not exist. */
export const CONTROL_ROUTES: readonly ControlRoute[] = [
  // Before those that would take `metrics` for a sandbox.
  ...metricRoutes,
  ...sandboxRoutes,
  ...lifecycleRoutes,
  ...logRoutes,
  ...networkRoutes,
  // Before those that would take `tags` for a template's name.
  ...tagRoutes,
  ...snapshotRoutes,
  ...templateRoutes,
  ...buildRoutes,
  ...volumeRoutes,
  ...secretRoutes,
];
