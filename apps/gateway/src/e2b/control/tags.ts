import { SandboxerError, type Snapshot } from "@sandboxer/contract";
import { z } from "zod";
import { type Call, control } from "./route.ts";
import { findSnapshot, tagsOf } from "./templates-known.ts";

const tagSchema = z.string().regex(/^[\w.-]{1,128}$/, "a tag is letters, digits, _ . and -");

async function template({ core, principal, desk }: Call<unknown>, name: string): Promise<Snapshot> {
  const snapshot = await findSnapshot(core, principal, name, desk.tags);
  if (snapshot) return snapshot;
  throw new SandboxerError("not_found", `template '${name.slice(0, 128)}' not found`);
}

export const tagRoutes = [
  control(
    {
      method: "POST",
      path: "/templates/tags",
      operation: "sandbox.snapshot",
      body: z.object({ target: z.string().max(200), tags: z.array(tagSchema).min(1).max(20) }),
    },
    async (call) => {
      const { id, labels } = await template(call, call.body.target);
      const name = labels["e2b.template"] ?? id;
      for (const tag of call.body.tags) call.desk.tags.set(`${call.principal.orgId} ${name}:${tag}`, id);
      return { status: 201, body: { buildID: labels["e2b.build"] ?? id, tags: call.body.tags } };
    },
  ),
  control(
    {
      method: "DELETE",
      path: "/templates/tags",
      operation: "sandbox.snapshot",
      body: z.object({ name: z.string().max(200), tags: z.array(tagSchema).max(20) }),
    },
    async (call) => {
      const { name, tags } = call.body;
      await template(call, name);
      for (const tag of tags) call.desk.tags.delete(`${call.principal.orgId} ${name}:${tag}`);
      return { status: 204 };
    },
  ),
  control({ method: "GET", path: "/templates/{id}/tags", operation: "sandbox.read" }, async (call) => {
    const { id, labels, createdAtMs } = await template(call, call.params.id ?? "");
    const createdAt = new Date(createdAtMs).toISOString();
    const tags = tagsOf({ id, labels }, call.desk.tags);
    return { status: 200, body: tags.map((tag) => ({ tag, buildID: labels["e2b.build"] ?? id, createdAt })) };
  }),
];
