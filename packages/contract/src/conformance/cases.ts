import { attributeCases } from "./attributes.ts";
import { execCases } from "./exec.ts";
import { fileCases } from "./files.ts";
import { isolationCases } from "./isolation.ts";
import { lifecycleCases } from "./lifecycle.ts";
import { metricsCases } from "./metrics.ts";
import { pauseCases } from "./pause.ts";
import { portCases } from "./ports.ts";
import { processCases } from "./processes.ts";
import { stopCases } from "./stop.ts";
import type { Case } from "./subject.ts";
import { terminalCases } from "./terminals.ts";
import { treeCases } from "./trees.ts";

export type { Case, Subject, SubjectSandbox } from "./subject.ts";

/** Every promise of the contract, by group; free of any test framework. */
export const CASES: Readonly<Record<string, readonly Case[]>> = {
  lifecycle: lifecycleCases,
  exec: execCases,
  processes: processCases,
  terminals: terminalCases,
  ports: portCases,
  files: fileCases,
  attributes: attributeCases,
  trees: treeCases,
  isolation: isolationCases,
  pause: pauseCases,
  stop: stopCases,
  metrics: metricsCases,
};
