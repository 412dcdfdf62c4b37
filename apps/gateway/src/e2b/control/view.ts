import type { Principal, Sandbox } from "@sandboxer/contract";
import { DEFAULT_RESOURCES } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";
import type { Desk } from "../desk.ts";
import { metadataOf, notesOf } from "../labels.ts";
import { endOf } from "../timeouts.ts";
import { trafficToken } from "../traffic.ts";
import { egressOf } from "./egress.ts";

/** Which of E2B's envd this door behaves like: clients choose by it what they dare to ask. */
export const ENVD_VERSION = "0.6.13";

const iso = (ms: number) => new Date(ms).toISOString();

function namesOf(sandbox: Sandbox) {
  const template = notesOf(sandbox).template ?? sandbox.profile?.name ?? "base";
  return { sandboxID: sandbox.id, templateID: template, alias: template, clientID: "sandboxer" };
}

/** What a client needs to work with one: the answer to create and connect. */
export async function connectionView(core: Core, desk: Desk, principal: Principal, sandbox: Sandbox) {
  const token = await core.openAccess(principal, sandbox.id);
  desk.signatures.learn(sandbox.id, token);
  const isPrivate = notesOf(sandbox).public === "false";
  return {
    ...namesOf(sandbox),
    envdVersion: ENVD_VERSION,
    envdAccessToken: token,
    domain: desk.domain() ?? null,
    trafficAccessToken: isPrivate ? await trafficToken(core, sandbox) : null,
  };
}

/** One of a list, with what it works on. */
export async function listedWithMounts(core: Core, principal: Principal, sandbox: Sandbox) {
  return { ...listedView(sandbox), volumeMounts: await mountsOf(core, principal, sandbox) };
}

export function listedView(sandbox: Sandbox) {
  const { cpus, memoryMiB, diskMiB } = { ...DEFAULT_RESOURCES, ...sandbox.spec.resources };
  return {
    ...namesOf(sandbox),
    startedAt: iso(sandbox.startedAtMs ?? sandbox.createdAtMs),
    endAt: iso(endOf(sandbox)),
    state: sandbox.state === "paused" ? "paused" : "running",
    cpuCount: Math.max(1, Math.round(cpus ?? 1)),
    memoryMB: memoryMiB ?? 0,
    diskSizeMB: diskMiB ?? 0,
    envdVersion: ENVD_VERSION,
    metadata: metadataOf(sandbox),
  };
}

export async function detailView(core: Core, desk: Desk, principal: Principal, sandbox: Sandbox) {
  const notes = notesOf(sandbox);
  const { network } = sandbox.spec;
  const { envdAccessToken, domain } = await connectionView(core, desk, principal, sandbox);
  return {
    ...listedView(sandbox),
    envdAccessToken,
    domain,
    allowInternetAccess: notes.internet === undefined ? null : notes.internet === "true",
    network: {
      ...(network.egress === "guarded" && egressOf(network.rules)),
      allowPublicTraffic: notes.public !== "false",
      ...(notes["mask-host"] !== undefined && { maskRequestHost: notes["mask-host"] }),
    },
    lifecycle: {
      onTimeout: notes["on-timeout"] === undefined ? "kill" : "pause",
      autoResume: notes["auto-resume"] === "true",
    },
    volumeMounts: await mountsOf(core, principal, sandbox),
  };
}

/** By the name that it has now; what the caller cannot see has its id. */
function mountsOf(core: Core, principal: Principal, { spec }: Sandbox) {
  const named = (spec.volumes ?? []).map(async ({ volume, target }) => {
    const found = await core.getVolume(principal, volume).catch(() => undefined);
    return { name: found?.name ?? volume, path: target };
  });
  return Promise.all(named);
}
