import { fileURLToPath } from "node:url";
import { checkArrows } from "./arrows.ts";
import { vendorNames } from "./vendor-names.ts";

/** Fewer than this and the tool has not seen the house. */
const LEAST_MODULES = 20;

const root = fileURLToPath(new URL("..", import.meta.url));
const arrows = await checkArrows(root);
const violations = [...arrows.violations, ...vendorNames(root)];

for (const violation of violations) console.error(violation);
if (arrows.modules < LEAST_MODULES) {
  console.error(`arrows: only ${arrows.modules} modules were seen; at least ${LEAST_MODULES} are there`);
}
console.log(`arrows: ${arrows.modules} modules, ${violations.length} violations`);
process.exitCode = violations.length > 0 || arrows.modules < LEAST_MODULES ? 1 : 0;
