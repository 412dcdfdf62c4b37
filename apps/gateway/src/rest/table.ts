import { attributeRoutes } from "./attributes.ts";
import { fileRoutes } from "./files.ts";
import { portRoutes } from "./ports.ts";
import { processRoutes } from "./processes.ts";
import type { Route } from "./route.ts";
import { sandboxRoutes } from "./sandboxes.ts";
import { systemRoutes } from "./system.ts";
import { treeRoutes } from "./trees.ts";

/** Every way in over HTTP. What is not here does not exist. */
export const ROUTES: readonly Route[] = [
  ...systemRoutes,
  ...sandboxRoutes,
  ...processRoutes,
  ...portRoutes,
  ...fileRoutes,
  ...attributeRoutes,
  ...treeRoutes,
];
