import { type CreateBody, type Image, SandboxerError } from "@sandboxer/contract";
import type { Core } from "@sandboxer/core";
import { z } from "zod";
import { templateFor } from "../control/templates-known.ts";
import type { Build, Builds } from "./build.ts";
import { profileNameOf } from "./built.ts";
import { BUILD_LABEL, snapshotNameOf } from "./clear-interrupted.ts";
import { BUILD_TTL_MS, dropHolder } from "./holder.ts";
import { type Ground, runStep, stepSchema } from "./steps.ts";
import type { Tags } from "./tags.ts";

export const buildSchema = z.object({
  fromImage: z.string().max(255).nullish(),
  fromTemplate: z.string().max(128).nullish(),
  fromImageRegistry: z.null("this gateway does not have that").optional(),
  steps: z.array(stepSchema).max(500).default([]),
  startCmd: z.string().nullish(),
  readyCmd: z.string().nullish(),
});
export type BuildWish = z.output<typeof buildSchema>;

/** Images that a build may name, and what each is here: the operator says so. */
export type Images = Readonly<Record<string, Image>>;

/** Where what runs at a sandbox's start is kept inside. */
export const START_FOLDER = "/var/lib/template";

/** Makes the sandbox, takes the steps, publishes what came of it, and lets it go. */
export async function runBuild(
  core: Core,
  build: Build,
  wish: BuildWish,
  { images, tags, builds }: Ways & { readonly builds: Builds },
): Promise<void> {
  const tell = (message: string, level: "info" | "error" = "info") =>
    void build.log.push({ timestamp: new Date().toISOString(), level, message });
  build.status = "building";
  let sandboxId: string | undefined;
  let step = 0;
  try {
    const base = await baseOf(core, build, wish, { images, tags });
    const labels = { ...base.labels, [BUILD_LABEL]: build.id };
    sandboxId = (await core.create(build.principal, { ...base, labels, ttlMs: BUILD_TTL_MS })).id;
    const ground: Ground = { core, build, sandboxId, env: {}, cwd: "/home/user", user: "user", tell };
    for (const one of wish.steps) {
      step += 1;
      tell(`[${step}/${wish.steps.length}] ${one.type} ${one.args.join(" ")}`);
      await runStep(ground, one);
    }
    await keep(ground, wish);
    tell("ready");
    build.status = "ready";
  } catch (error) {
    const { message } = SandboxerError.from(error);
    tell(message, "error");
    build.reason = { message, ...(step > 0 && { step: String(step) }) };
    build.status = "error";
  } finally {
    if (sandboxId !== undefined) await core.destroy(build.principal, sandboxId).catch(() => {});
    await dropHolder(core, build);
    builds.journal.over(build.id);
  }
}

/** What a build may start from. */
interface Ways {
  readonly images: Images;
  readonly tags: Tags;
}

async function baseOf(
  core: Core,
  build: Build,
  wish: BuildWish,
  { images, tags }: Ways,
): Promise<CreateBody> {
  if (wish.fromTemplate) {
    const wanted = { hasNetwork: false, hasSecrets: false };
    return (await templateFor(core, build.principal, wish.fromTemplate, wanted, tags)).body;
  }
  const name = wish.fromImage ?? "";
  const image = Object.hasOwn(images, name) ? images[name] : undefined;
  if (image) return { image };
  throw new SandboxerError("invalid_request", `image '${name}' is not here`, {
    hint: "The operator says in e2b.images what an image's name stands for.",
  });
}

/** Variables go where login shells read them; the context goes; the rest is the template. */
async function keep({ core, build, sandboxId, env, tell }: Ground, wish: BuildWish): Promise<void> {
  const { principal, name, tags, resources } = build;
  const files = await core.files(principal, sandboxId);
  const write = (path: string, text: string, append = false) =>
    files.write(path, [Buffer.from(text)], { user: "root", parents: true, append, mode: 0o644 });
  const lines = Object.entries(env).map(
    ([key, value]) => `export ${key}='${value.replaceAll("'", "'\\''")}'\n`,
  );
  if (lines.length > 0) await write("/etc/profile", lines.join(""), true);
  if (wish.startCmd) await write(`${START_FOLDER}/start`, `${wish.startCmd}\n`);
  if (wish.startCmd && wish.readyCmd) await write(`${START_FOLDER}/ready`, `${wish.readyCmd}\n`);
  await files.remove("/var/tmp/context", { user: "root", recursive: true }).catch(() => {});
  const profile = profileNameOf(name);
  const { id: from, image } = await core.takeSnapshot(principal, sandboxId, {
    name: snapshotNameOf(build),
    labels: { [TEMPLATE_LABEL]: profile },
  });
  const made = await core.publishProfile(principal, {
    schema: 1,
    name: profile,
    description: `built from ${wish.steps.length} steps`,
    image,
    from,
    resources,
    labels: {
      "e2b.build": build.id,
      "e2b.tags": tags.join(",").slice(0, 255),
      ...(profile !== name && { "e2b.built-as": name }),
      ...(wish.startCmd && { "e2b.start": "true" }),
    },
  });
  tell(`${made.name}@${made.version}`);
}

/** On the snapshot of a template: it is the profile's, and no snapshot that somebody took. */
export const TEMPLATE_LABEL = "e2b.template";
