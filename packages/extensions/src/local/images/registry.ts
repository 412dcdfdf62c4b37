import { isOpenAddress, type OciDescriptor, SandboxerError } from "@sandboxer/contract";
import { parseChallenge } from "./challenge.ts";
import { credentialsFor } from "./credentials.ts";
import type { IsOpen } from "./elsewhere.ts";
import { bodyOf, failed, get, textOf } from "./http.ts";

export interface RegistryOptions {
  /** Where images may come from; from nowhere, unless the operator names some. */
  readonly registries?: readonly string[] | undefined;
  /** The one that is meant where a name says none. */
  readonly defaultRegistry?: string | undefined;
  /** Those that are asked without TLS; loopback always is. */
  readonly plainHttp?: readonly string[] | undefined;
  /** A file as docker writes it. */
  readonly credentials?: string | undefined;
  /** Where whoever is not listed has to be; an address of this machine's own is not everybody's to know. */
  readonly isOpen?: IsOpen | undefined;
}

export interface Registry {
  /** By tag or digest, as it is. */
  manifest(reference: string): Promise<{ bytes: Buffer; mediaType: string }>;
  /** Not checked yet. */
  blob(descriptor: OciDescriptor): Promise<AsyncIterable<Uint8Array>>;
  small(descriptor: OciDescriptor): Promise<Buffer>;
}

const MOST_JSON_BYTES = 4 << 20;
const MANIFESTS = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.docker.distribution.manifest.v2+json",
].join(", ");
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/;

/** One repository of a registry, over its HTTP API. */
export function openRegistry(
  host: string,
  repository: string,
  { plainHttp = [], credentials, registries = [], isOpen = isOpenAddress }: RegistryOptions,
  signal: AbortSignal,
): Registry {
  const scheme = LOOPBACK.test(host) || plainHttp.includes(host) ? "http" : "https";
  const base = `${scheme}://${host}/v2/${repository}`;
  let authorization: string | undefined;
  const isNamed = (other: string) => other === host || registries.includes(other);
  const where = { isNamed, isOpen };

  const fetchOnce = (path: string, headers: Record<string, string>) =>
    get(`${base}${path}`, { ...headers, ...(authorization && { authorization }) }, signal, where);

  const authorize = async (header: string | null): Promise<string | undefined> => {
    const challenge = parseChallenge(header);
    const known = await credentialsFor(host, credentials);
    const basic = known && `Basic ${Buffer.from(`${known.username}:${known.password}`).toString("base64")}`;
    if (challenge?.scheme !== "bearer") return challenge && basic;
    const url = URL.parse(challenge.realm);
    // A password goes to nobody in the clear, unless the registry itself is asked so.
    if (!url || (scheme === "https" && url.protocol !== "https:"))
      throw failed(`${host} asks for a token of nobody`);
    if (challenge.service) url.searchParams.set("service", challenge.service);
    url.searchParams.set("scope", challenge.scope ?? `repository:${repository}:pull`);
    const answer = await get(url.href, basic ? { authorization: basic } : {}, signal, where);
    const body = await textOf(answer, 1 << 20, "a token");
    if (answer.status !== 200) throw refusal(answer.status, host, repository);
    const token = tokenIn(body);
    return token && `Bearer ${token}`;
  };

  const ask = async (path: string, headers: Record<string, string> = {}): Promise<Response> => {
    let answer = await fetchOnce(path, headers);
    if (answer.status === 401) {
      await answer.body?.cancel();
      authorization = await authorize(answer.headers.get("www-authenticate"));
      if (authorization) answer = await fetchOnce(path, headers);
    }
    if (answer.status === 200) return answer;
    await answer.body?.cancel();
    throw refusal(answer.status, host, repository);
  };

  return {
    async manifest(reference) {
      const answer = await ask(`/manifests/${reference}`, { accept: MANIFESTS });
      const bytes = await textOf(answer, MOST_JSON_BYTES, "the manifest");
      return { bytes, mediaType: answer.headers.get("content-type")?.split(";")[0] ?? "" };
    },
    async blob({ digest }) {
      return bodyOf(await ask(`/blobs/${digest}`));
    },
    async small({ digest }) {
      return textOf(await ask(`/blobs/${digest}`), MOST_JSON_BYTES, "the configuration");
    },
  };
}

function tokenIn(body: Buffer): string | undefined {
  try {
    const { token, access_token } = JSON.parse(body.toString("utf8")) as Record<string, unknown>;
    const found = token ?? access_token;
    return typeof found === "string" && /^[\x21-\x7e]+$/.test(found) ? found : undefined;
  } catch {
    return undefined;
  }
}

function refusal(status: number, host: string, repository: string): SandboxerError {
  const details = { registry: host, status };
  const say = (
    code: "policy_denied" | "not_found" | "rate_limited" | "extension_unavailable",
    what: string,
  ) => new SandboxerError(code, `the registry ${host} ${what}`, { details, hint: HINTS[code] });
  if (status === 401 || status === 403) return say("policy_denied", `does not let us have ${repository}`);
  if (status === 404) return say("not_found", `has no such image of ${repository}`);
  if (status === 429) return say("rate_limited", "wants us to slow down");
  return say("extension_unavailable", `answers with status ${status}`);
}

const HINTS = {
  policy_denied: "Check the name, and the operator's images.credentials.",
  not_found: "Check the name and the tag.",
  rate_limited: "Wait a while, or give the operator's images.credentials.",
  extension_unavailable: "Try again later.",
} as const;
