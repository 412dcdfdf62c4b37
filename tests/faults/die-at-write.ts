import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

/**
 * Loaded before a program: kills it right before the so-manyth time that it puts a file in its
 * place, as `DIE_AT_STEP` says.
 */
let left = Number(process.env.DIE_AT_STEP);
const steps = fs as unknown as Record<string, (...given: unknown[]) => unknown>;
for (const name of ["linkSync", "renameSync"]) {
  const step = steps[name];
  steps[name] = (...given) => {
    left -= 1;
    if (left === 0) process.kill(process.pid, "SIGKILL");
    return step?.(...given);
  };
}
syncBuiltinESMExports();
