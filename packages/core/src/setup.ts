import {
  type Box,
  collect,
  type ExecResult,
  type Exit,
  type Sandbox,
  SandboxerError,
} from "@sandboxer/contract";
import type { House } from "./house.ts";
import { keepSetup } from "./setup-cache.ts";
import { discard, fail, type Taken } from "./try-each.ts";

const PATIENCE_MS = 600_000;
const KEPT_BYTES = 4_096;

/**
 * Runs what its spec says, in order, before anybody gets it; where its outcome is kept, only the
 * first time. One that fails leaves nothing behind.
 */
export async function setUp(
  house: House,
  sandbox: Sandbox,
  taken: Taken,
  attachmentId: string,
): Promise<void> {
  const { box, candidate, attempts, setup } = taken;
  const { setup: steps = [], verify = [] } = sandbox.spec;
  try {
    if (box.isSetUp) return;
    for (const argv of steps) await runOne(box, argv, attachmentId);
    // What no setup made, no proof of one is about.
    for (const argv of steps.length > 0 ? verify : []) await runOne(box, argv, attachmentId);
    if (!setup) return;
    house.pass("create.set-up");
    await keepSetup(house, house.registry.get(candidate.extensionId), setup.key, box);
  } catch (thrown) {
    box.close();
    await discard(house, candidate.extensionId, box.ref);
    throw await fail(house, sandbox, SandboxerError.from(thrown), attempts);
  } finally {
    setup?.done();
  }
}

async function runOne(box: Box, argv: string[], attachmentId: string): Promise<void> {
  const request = { argv, env: {}, stdin: false, timeoutMs: PATIENCE_MS };
  const result = await collect(await box.exec(request, attachmentId), KEPT_BYTES);
  const { exit } = result;
  if (exit.kind === "exited" && exit.code === 0) return;
  throw new SandboxerError("setup_failed", `${argv[0]} ${ending(exit)}${lastWords(result)}`, {
    details: { argv, exit },
  });
}

function ending(exit: Exit): string {
  if (exit.kind === "exited") return `exited with ${exit.code}`;
  return exit.kind === "signalled" ? `was ended by ${exit.signal}` : "took too long";
}

function lastWords({ stderr }: ExecResult): string {
  const text = new TextDecoder().decode(stderr).trim().slice(-500);
  return text === "" ? "" : `: ${text}`;
}
