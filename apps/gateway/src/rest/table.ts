import { approvalRoutes } from "./approvals.ts";
import { attachmentRoutes } from "./attachments.ts";
import { attributeRoutes } from "./attributes.ts";
import { budgetRoutes } from "./budget.ts";
import { eventRoutes } from "./events.ts";
import { fileRoutes } from "./files.ts";
import { imageRoutes } from "./images.ts";
import { keyRoutes } from "./keys.ts";
import { metricsRoutes } from "./metrics.ts";
import { networkRoutes } from "./network.ts";
import { orgRoutes } from "./orgs.ts";
import { portRoutes } from "./ports.ts";
import { processRoutes } from "./processes.ts";
import { profileRoutes } from "./profiles.ts";
import { referenceRoutes } from "./reference.ts";
import type { Route } from "./route.ts";
import { sandboxRoutes } from "./sandboxes.ts";
import { secretRoutes } from "./secrets.ts";
import { snapshotRoutes } from "./snapshots.ts";
import { systemRoutes } from "./system.ts";
import { treeRoutes } from "./trees.ts";
import { volumeRoutes } from "./volumes.ts";
import { workspaceRoutes } from "./workspaces.ts";

/** Every way in over HTTP. What is not here does not exist. */
export const ROUTES: readonly Route[] = [
  ...systemRoutes,
  ...metricsRoutes,
  ...referenceRoutes,
  ...orgRoutes,
  ...keyRoutes,
  ...budgetRoutes,
  ...secretRoutes,
  ...approvalRoutes,
  ...profileRoutes,
  ...eventRoutes,
  ...sandboxRoutes,
  ...networkRoutes,
  ...attachmentRoutes,
  ...processRoutes,
  ...portRoutes,
  ...fileRoutes,
  ...attributeRoutes,
  ...treeRoutes,
  ...workspaceRoutes,
  ...snapshotRoutes,
  ...volumeRoutes,
  ...imageRoutes,
];
