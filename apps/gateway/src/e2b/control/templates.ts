import { type OfferedProfile, SandboxerError } from "@sandboxer/contract";
import { z } from "zod";
import { buildIdOf, templateNameOf } from "../builds/built.ts";
import { type Key, pageOf } from "./page.ts";
import { type Answer, type Call, control } from "./route.ts";
import { isTemplate } from "./templates-known.ts";
import { ENVD_VERSION } from "./view.ts";

const iso = (ms: number) => new Date(ms).toISOString();

/** Every version that something can be made of, by its template's name, oldest first. */
async function livingByName({ core, principal }: Call<unknown>): Promise<Map<string, OfferedProfile[]>> {
  const byName = new Map<string, OfferedProfile[]>();
  for (const profile of await core.listProfiles(principal)) {
    if (profile.deprecatedAtMs !== undefined) continue;
    const name = templateNameOf(profile);
    byName.set(name, [...(byName.get(name) ?? []), profile]);
  }
  return byName;
}

const buildIdIn = (profile: OfferedProfile) => buildIdOf(profile) ?? `${profile.name}@${profile.version}`;

function sizeOf({ resolved: { resources } }: OfferedProfile) {
  const { cpus = 0, memoryMiB = 0, diskMiB = 0 } = resources ?? {};
  return { cpuCount: cpus, memoryMB: memoryMiB, diskSizeMB: diskMiB };
}

function aboutOf(name: string, versions: readonly OfferedProfile[]) {
  const [first, newest] = [versions[0], versions.at(-1)] as [OfferedProfile, OfferedProfile];
  return {
    templateID: name,
    aliases: [name],
    names: [name],
    public: false,
    createdAt: iso(first.publishedAtMs),
    updatedAt: iso(newest.publishedAtMs),
    lastSpawnedAt: null,
    spawnCount: 0,
  };
}

function listedOf([name, versions]: readonly [string, readonly OfferedProfile[]]) {
  const newest = versions.at(-1) as OfferedProfile;
  return {
    ...aboutOf(name, versions),
    ...sizeOf(newest),
    buildID: buildIdIn(newest),
    createdBy: null,
    buildCount: newest.version,
    buildStatus: "ready",
    envdVersion: ENVD_VERSION,
  };
}

/** Newest first, page by page; without a version all at once, as clients before paging knew it. */
const list =
  (isPaged: boolean) =>
  async (call: Call<unknown>): Promise<Answer> => {
    const keyOf = ([name, versions]: readonly [string, readonly OfferedProfile[]]): Key => ({
      id: name,
      atMs: versions.at(-1)?.publishedAtMs ?? 0,
    });
    const all = [...(await livingByName(call))].toSorted((one, other) => keyOf(other).atMs - keyOf(one).atMs);
    if (!isPaged) return { status: 200, body: all.map(listedOf) };
    const { page, headers = {} } = pageOf(all, call.query, keyOf);
    return { status: 200, body: page.map(listedOf), headers };
  };

async function versionsOf(call: Call<unknown>): Promise<readonly [string, OfferedProfile[]]> {
  const { id = "" } = call.params;
  const found = (await livingByName(call)).get(id);
  if (found) return [id, found];
  throw new SandboxerError("not_found", `Template ${id.slice(0, 128)} not found`);
}

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
  control({ method: "GET", path: "/templates", operation: "key" }, list(false)),
  control({ method: "GET", path: "/v2/templates", operation: "key" }, list(true)),
  control({ method: "GET", path: "/templates/{id}", operation: "key" }, async (call) => {
    const [name, versions] = await versionsOf(call);
    const keyOf = (one: OfferedProfile): Key => ({ id: buildIdIn(one), atMs: one.publishedAtMs });
    const { page, headers = {} } = pageOf(versions.toReversed(), call.query, keyOf);
    const builds = page.map((one) => ({
      buildID: buildIdIn(one),
      status: "ready",
      createdAt: iso(one.publishedAtMs),
      updatedAt: iso(one.publishedAtMs),
      finishedAt: iso(one.publishedAtMs),
      ...sizeOf(one),
      envdVersion: ENVD_VERSION,
    }));
    return { status: 200, body: { ...aboutOf(name, versions), builds }, headers };
  }),
  control(
    {
      method: "PATCH",
      path: "?/templates/{id}",
      operation: "key",
      body: z.object({ public: z.literal(false, "no template is public here").nullish() }),
    },
    async (call) => ({ status: 200, body: { names: [(await versionsOf(call))[0]] } }),
  ),
];
