import type { Config } from "./schema.ts";

/**
 * What holds where nobody says anything, as the schema would fill it in. Written out, because most
 * short commands say nothing, and to make the schema takes them longer than to use what it answers.
 */
export function unsaid(): Config {
  return {
    listen: { host: "127.0.0.1", port: 7070 },
    insecure: false,
    log: {},
    allowed: { hosts: [], origins: [] },
    e2b: { internet: false, images: {} },
    limits: { concurrent: 1_024 },
    prices: {},
    allowUnsafeRuntime: [],
    docker: { registries: [], gvisor: false },
    images: { registries: [], plainHttp: [], maximumLayerMiB: 32_768 },
    snapshots: { maximumMiB: 32_768 },
    packageHosts: {},
    trust: { unknown: "strongest", verified: "process", proofMs: 24 * 3_600_000 },
    extensions: [],
  };
}
