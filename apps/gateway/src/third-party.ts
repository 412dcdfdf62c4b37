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

/** A module may wait for anything while it loads, and the gateway starts only with all it is told to have. */
const LOADS_WITHIN_MS = 30_000;

/** What a package that brings a way out exports. */
type CreateExtension = (place: { dir: string; options: Readonly<Record<string, unknown>> }) => Extension;

/** Ways out from elsewhere. They run in this process with all of its rights: naming one is trusting it. */
export async function loadExtensions(
  home: string,
  named: Config["extensions"],
  patienceMs = LOADS_WITHIN_MS,
): Promise<Extension[]> {
  return Promise.all(named.map((one) => load(home, one, patienceMs)));
}

async function load(
  home: string,
  { package: name, options }: Config["extensions"][number],
  patienceMs: number,
): Promise<Extension> {
  const problem = (reason: string, hint: string, cause?: unknown) =>
    new SandboxerError("invalid_request", `the extension ${name} ${reason}`, { hint, cause });
  const module = await within(patienceMs, import(resolve(home, name))).catch((cause) => {
    throw problem(
      `cannot be loaded: ${wordsOf(cause)}`,
      `Install it where ${home} can find it, as in \`npm install --prefix ${home} ${name}\`.`,
      cause,
    );
  });
  const create = (module as { createExtension?: CreateExtension }).createExtension;
  if (typeof create !== "function") {
    throw problem("exports no createExtension", "Check the name; it may not be an extension.");
  }
  const extension = opened(() => create({ dir: folderOf(home, name), options }), problem);
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

type Problem = (reason: string, hint: string, cause?: unknown) => SandboxerError;

function opened(open: () => unknown, problem: Problem): Extension {
  let extension: unknown;
  try {
    extension = open();
  } catch (cause) {
    throw problem(`cannot be opened: ${wordsOf(cause)}`, "Check its options, or tell its authors.", cause);
  }
  if (extension instanceof Promise) {
    extension.catch(() => {});
    throw problem(
      "gives a promise of an extension",
      "createExtension has to give it at once: tell its authors.",
    );
  }
  if (typeof extension !== "object" || extension === null) {
    throw problem("gives no extension", "Tell its authors.");
  }
  const { manifest } = extension as Partial<Extension>;
  if (typeof manifest === "object" && manifest !== null) return extension as Extension;
  throw problem("has no manifest", "Tell its authors.");
}

const folderOf = (home: string, name: string): string => join(home, "ext", name.replaceAll(/[^\w.-]+/g, "_"));

const wordsOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

async function within<T>(ms: number, loading: Promise<T>): Promise<T> {
  const { promise: tooLate, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error("it does not come to an end")), ms);
  try {
    return await Promise.race([loading, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

/** As a module of this home would import it. */
function resolve(home: string, name: string): string {
  try {
    return pathToFileURL(createRequire(join(home, "package.json")).resolve(name)).href;
  } catch {
    return name;
  }
}
