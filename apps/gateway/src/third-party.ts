import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import {
  CONTRACT_VERSION,
  type Extension,
  manifestSchema,
  problemOf,
  SandboxerError,
} from "@sandboxer/contract";
import type { Config } from "./config/schema.ts";

/** What a package that brings a way out exports. */
type CreateExtension = (place: { dir: string; options: Readonly<Record<string, unknown>> }) => Extension;

/** Ways out from elsewhere. They run in this process with all of its rights: naming one is trusting it. */
export async function loadExtensions(home: string, named: Config["extensions"]): Promise<Extension[]> {
  return Promise.all(named.map((one) => load(home, one)));
}

async function load(
  home: string,
  { package: name, options }: Config["extensions"][number],
): Promise<Extension> {
  const problem = (reason: string, hint: string, cause?: unknown) =>
    new SandboxerError("invalid_request", `the extension ${name} ${reason}`, { hint, cause });
  const module = await import(resolve(home, name)).catch((cause) => {
    throw problem(
      "cannot be loaded",
      `Install it where ${home} can find it, as in \`npm install --prefix ${home} ${name}\`.`,
      cause,
    );
  });
  const create = (module as { createExtension?: CreateExtension }).createExtension;
  if (typeof create !== "function") {
    throw problem("exports no createExtension", "Check the name; it may not be an extension.");
  }
  const extension = create({ dir: join(home, "ext", name.replaceAll(/[^\w.-]+/g, "_")), options });
  const { contract } = extension.manifest as { contract?: number };
  if (contract !== CONTRACT_VERSION) {
    const wanted = `Use a version of it that is made for contract ${CONTRACT_VERSION}.`;
    throw problem(`is made for contract ${contract}, and this is ${CONTRACT_VERSION}`, wanted);
  }
  const manifest = manifestSchema.safeParse(extension.manifest);
  if (manifest.success) return extension;
  throw problem(
    `has a manifest that is not valid: ${manifest.error.issues.slice(0, 3).map(problemOf).join("; ")}`,
    "Tell its authors.",
  );
}

/** As a module of this home would import it. */
function resolve(home: string, name: string): string {
  try {
    return pathToFileURL(createRequire(join(home, "package.json")).resolve(name)).href;
  } catch {
    return name;
  }
}
