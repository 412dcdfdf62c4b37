import type { CreateContext, SandboxSpec } from "@sandboxer/contract";
import { hostLimits } from "./limits.ts";
import { RUNTIMES, type Runtime } from "./runtime.ts";

export const LABEL = {
  installation: "dev.sandboxer.installation",
  sandbox: "dev.sandboxer.sandbox",
  createdAtMs: "dev.sandboxer.created-at-ms",
  extension: "dev.sandboxer.extension",
} as const;

/** Where boxd and its socket are inside. The folder of the socket is root's alone. */
const INSIDE = "/.sandboxer";

/** What serve needs to act as the sandbox's users, and what its own root keeps. */
const CAPABILITIES = [
  "CHOWN",
  "DAC_OVERRIDE",
  "FOWNER",
  "FSETID",
  "KILL",
  "NET_BIND_SERVICE",
  "SETGID",
  "SETPCAP",
  "SETUID",
];

/** What serve needs to lay the way out, before it gives both up for good. Programs never have them. */
const FOR_A_WAY_OUT = ["NET_ADMIN", "SYS_ADMIN"];

export const nameOf = (sandboxId: string): string => `sandboxer-${sandboxId}`;

/** The hardened container of one sandbox: no network, few capabilities, boxd as its first process. */
export function describeContainer(
  spec: SandboxSpec & { image: { kind: "oci" } },
  context: CreateContext,
  host: { readonly boxdPath: string; readonly socketDir: string; readonly runtime: Runtime },
): Record<string, unknown> {
  const isGuarded = spec.network.egress === "guarded";
  const serve = ["serve", "--id", context.sandboxId, "--socket", `${INSIDE}/run/box.sock`];
  return {
    Image: spec.image.ref,
    Entrypoint: [`${INSIDE}/boxd`],
    Cmd: [
      ...[...serve, "--ttl-ms", String(spec.ttlMs), "--ensure-user"],
      ...(spec.root === "denied" ? ["--deny-root"] : []),
      ...(isGuarded ? ["--guarded"] : []),
    ],
    Env: Object.entries(spec.env).map(([name, value]) => `${name}=${value}`),
    Hostname: "sandbox",
    User: "0:0",
    WorkingDir: "/",
    // An image's own would run as root, with every capability that is boxd's alone.
    Healthcheck: { Test: ["NONE"] },
    NetworkDisabled: true,
    Labels: {
      ...spec.labels,
      [LABEL.installation]: context.installationId,
      [LABEL.sandbox]: context.sandboxId,
      [LABEL.createdAtMs]: String(Date.now()),
      [LABEL.extension]: RUNTIMES[host.runtime].id,
    },
    HostConfig: {
      AutoRemove: true,
      NetworkMode: "none",
      // Left out, the daemon's own choice, which was judged: its operator may have something stronger.
      ...(host.runtime !== "runc" && { Runtime: host.runtime }),
      Binds: [`${host.boxdPath}:${INSIDE}/boxd:ro`, `${host.socketDir}:${INSIDE}/run`],
      Mounts: (spec.volumes ?? []).map(({ source, target }) => ({
        Type: "bind",
        Source: source,
        Target: target,
        // What others mount there later is not theirs.
        BindOptions: { Propagation: "private" },
      })),
      // Left to docker, nothing that a build writes there would run.
      Tmpfs: { "/tmp": "rw,exec,nosuid,nodev,mode=1777" },
      CapDrop: ["ALL"],
      CapAdd: isGuarded ? [...CAPABILITIES, ...FOR_A_WAY_OUT] : CAPABILITIES,
      SecurityOpt: ["no-new-privileges"],
      IpcMode: "private",
      // Where groups are of the first version, docker's own choice is the host's.
      CgroupnsMode: "private",
      ...hostLimits(spec),
      LogConfig: { Type: "none" },
    },
  };
}
