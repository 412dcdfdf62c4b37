import { SandboxerError } from "@sandboxer/contract";
import { z } from "zod";
import { type Built, buildIdOf, builtVersions } from "../builds/built.ts";
import { may } from "./may.ts";
import { type Call, control } from "./route.ts";
import { findBuilt } from "./templates-known.ts";

const tagSchema = z.string().regex(/^[\w.-]{1,128}$/, "a tag is letters, digits, _ . and -");

async function template({ core, principal, desk }: Call<unknown>, name: string): Promise<Built> {
  const built = await findBuilt(core, principal, name, desk.tags);
  if (built) return built;
  throw new SandboxerError("not_found", `template '${name.slice(0, 128)}' not found`);
}

export const tagRoutes = [
  control(
    {
      method: "POST",
      path: "/templates/tags",
      operation: "profile.publish",
      body: z.object({ target: z.string().max(200), tags: z.array(tagSchema).min(1).max(20) }),
    },
    async (call) => {
      // A tag says which version a name means, and so is as much as a version.
      await may(call, "profile.publish");
      const built = await template(call, call.body.target);
      for (const tag of call.body.tags) call.desk.tags.set(call.principal, built, tag, built.version);
      return { status: 201, body: { buildID: buildIdOf(built), tags: call.body.tags } };
    },
  ),
  control(
    {
      method: "DELETE",
      path: "/templates/tags",
      operation: "profile.publish",
      body: z.object({ name: z.string().max(200), tags: z.array(tagSchema).max(20) }),
    },
    async (call) => {
      await may(call, "profile.publish");
      const built = await template(call, call.body.name);
      for (const tag of call.body.tags) call.desk.tags.set(call.principal, built, tag, null);
      return { status: 204 };
    },
  ),
  control({ method: "GET", path: "/templates/{id}/tags", operation: "key" }, async (call) => {
    const { core, desk, principal, params } = call;
    await template(call, params.id ?? "");
    const tags = desk.tags.of(principal, await builtVersions(core, principal, params.id ?? ""));
    const body = [...tags].map(([tag, built]) => ({
      tag,
      buildID: buildIdOf(built),
      createdAt: new Date(built.publishedAtMs).toISOString(),
    }));
    return { status: 200, body };
  }),
];
