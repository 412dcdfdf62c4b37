import { SandboxerError } from "@sandboxer/contract";

/** What a name of an image leads to. */
export interface Reference {
  /** As everybody spells it: with its registry, if it names one, and with a tag or a digest. */
  readonly name: string;
  /** Absent where the name leaves it to the operator. */
  readonly registry?: string;
  readonly repository: string;
  readonly tag?: string;
  readonly digest?: string;
}

const REPOSITORY = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*$/;
const TAG = /^\w[\w.-]{0,127}$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;

/** The first part is a host when it looks like one; without a tag or a digest, `latest` is meant. */
export function parseReference(ref: string): Reference {
  const wrong = (why: string) => new SandboxerError("invalid_request", `not an image's name: ${ref}: ${why}`);
  const [named = "", digest, ...more] = ref.split("@");
  if (more.length > 0 || (digest !== undefined && !DIGEST.test(digest))) throw wrong("its digest is none");
  const [first = "", ...rest] = named.split("/");
  const isHost = rest.length > 0 && (/[.:]/.test(first) || first === "localhost");
  const path = isHost ? rest.join("/") : named;
  const colon = path.lastIndexOf(":");
  const repository = colon > 0 ? path.slice(0, colon) : path;
  const said = colon > 0 ? path.slice(colon + 1) : undefined;
  if (!REPOSITORY.test(repository)) throw wrong("a repository is lower-case words between slashes");
  if (said !== undefined && !TAG.test(said)) throw wrong("its tag is none");
  const tag = said ?? (digest === undefined ? "latest" : undefined);
  const prefix = isHost ? `${first.toLowerCase()}/` : "";
  return {
    name: `${prefix}${repository}${tag === undefined ? "" : `:${tag}`}${digest ? `@${digest}` : ""}`,
    ...(isHost && { registry: first.toLowerCase() }),
    repository,
    ...(tag !== undefined && { tag }),
    ...(digest !== undefined && { digest }),
  };
}
