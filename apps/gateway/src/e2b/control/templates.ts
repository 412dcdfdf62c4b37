import { SandboxerError } from "@sandboxer/contract";
import { buildIdOf, templateNameOf } from "../builds/built.ts";
import { control } from "./route.ts";
import { isTemplate } from "./templates-known.ts";
import { ENVD_VERSION } from "./view.ts";

const iso = (ms: number) => new Date(ms).toISOString();

export const templateRoutes = [
  control(
    { method: "GET", path: "/templates/aliases/{alias}", operation: "key" },
    async ({ core, desk, principal, params }) => {
      const { alias = "" } = params;
      if (await isTemplate(core, principal, alias, desk.tags)) {
        return { status: 200, body: { templateID: alias, public: false } };
      }
      throw new SandboxerError("not_found", `template '${alias}' not found`);
    },
  ),
  control({ method: "GET", path: "?/templates", operation: "key" }, async ({ core, principal }) => {
    const profiles = await core.listProfiles(principal);
    const living = profiles.filter(({ deprecatedAtMs }) => deprecatedAtMs === undefined);
    const newest = new Map(living.map((profile) => [templateNameOf(profile), profile]));
    const body = [...newest].map(([name, { version, publishedAtMs, resolved }]) => ({
      templateID: name,
      buildID: buildIdOf({ resolved }) ?? `${name}@${version}`,
      aliases: [name],
      names: [name],
      public: false,
      cpuCount: resolved.resources?.cpus ?? 0,
      memoryMB: resolved.resources?.memoryMiB ?? 0,
      diskSizeMB: resolved.resources?.diskMiB ?? 0,
      createdAt: iso(publishedAtMs),
      updatedAt: iso(publishedAtMs),
      createdBy: null,
      lastSpawnedAt: null,
      spawnCount: 0,
      buildCount: version,
      buildStatus: "ready",
      envdVersion: ENVD_VERSION,
    }));
    return { status: 200, body };
  }),
];
