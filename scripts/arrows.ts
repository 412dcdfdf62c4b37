import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { cruise, type ICruiseOptions, type ICruiseResult, type IFlattenedRuleSet } from "dependency-cruiser";

const require = createRequire(import.meta.url);
const PLACES = ["packages", "apps", "tests", "bench", "scripts"];

export interface Arrows {
  /** Our own source files looked at. Zero would mean that the tool is blind, not that all is well. */
  readonly modules: number;
  readonly violations: readonly string[];
}

/** Holds the tree below `root` against the rooms in .dependency-cruiser.cjs. */
export async function checkArrows(root: string): Promise<Arrows> {
  const { options, ...ruleSet } = require("../.dependency-cruiser.cjs") as {
    options: ICruiseOptions;
    forbidden: IFlattenedRuleSet["forbidden"];
  };
  const places = PLACES.filter((place) => existsSync(join(root, place)));
  const { output } = await cruise(
    places,
    { ...options, baseDir: root, ruleSet: ruleSet as IFlattenedRuleSet, validate: true },
    options.enhancedResolveOptions,
  );
  const { modules, summary } = output as ICruiseResult;
  return {
    modules: modules.filter((one) => /\.[cm]?[jt]s$/.test(one.source) && !one.source.includes("node_modules"))
      .length,
    violations: summary.violations.map(
      ({ rule, from, to, cycle }) =>
        `${rule.name}: ${from} → ${cycle ? cycle.map((step) => step.name).join(" → ") : to}`,
    ),
  };
}
