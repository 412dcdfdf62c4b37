import {
  type OciConfig,
  type OciDescriptor,
  type OciIndex,
  type OciManifest,
  ociConfigSchema,
  ociIndexSchema,
  ociManifestSchema,
  SandboxerError,
} from "@sandboxer/contract";
import { differs } from "./checked-tar.ts";
import { digestOf } from "./digest.ts";
import type { ImageRecord } from "./shelf.ts";

const ARCHITECTURE = process.arch === "x64" ? "amd64" : process.arch;
const LAYER = /^application\/vnd\.(?:oci\.image\.layer\.v1\.tar|docker\.image\.rootfs\.diff\.tar)/;

/** A manifest, or the list of those for each platform, from bytes that have the digest. */
export function readManifest(bytes: Buffer, digest?: string): OciManifest | OciIndex {
  if (digest !== undefined && digestOf(bytes) !== digest) throw differs("the manifest");
  const value = json(bytes, "the manifest");
  const index = ociIndexSchema.safeParse(value);
  if (index.success) return index.data;
  const manifest = ociManifestSchema.safeParse(value);
  if (!manifest.success) throw unreadable("the manifest");
  const other = manifest.data.layers.find(({ mediaType }) => !LAYER.test(mediaType));
  if (other) throw unreadable(`a layer of the type ${other.mediaType.slice(0, 100)}`);
  return manifest.data;
}

/** The one for this machine. */
export function choosePlatform({ manifests }: OciIndex): OciDescriptor {
  const fits = manifests.find(
    ({ platform }) => platform?.os === "linux" && platform.architecture === ARCHITECTURE,
  );
  const only = manifests.length === 1 && manifests[0]?.platform === undefined ? manifests[0] : undefined;
  const found = fits ?? only;
  if (found) return found;
  const offered = manifests.map(({ platform }) => `${platform?.os}/${platform?.architecture}`).join(", ");
  throw new SandboxerError(
    "invalid_request",
    `the image is not for linux/${ARCHITECTURE}, but for ${offered || "nothing"}`.slice(0, 500),
  );
}

export function readConfig(bytes: Buffer, digest?: string): OciConfig {
  if (digest !== undefined && digestOf(bytes) !== digest) throw differs("the configuration");
  const parsed = ociConfigSchema.safeParse(json(bytes, "the configuration"));
  if (!parsed.success) throw unreadable("the configuration");
  const { os, architecture } = parsed.data;
  if (os !== "linux" || architecture !== ARCHITECTURE) {
    throw new SandboxerError(
      "invalid_request",
      `the image is for ${os}/${architecture}, not for linux/${ARCHITECTURE}`.slice(0, 200),
    );
  }
  return parsed.data;
}

/** What its sandboxes start with. Who it would run as counts where that is not its root. */
export function recordOf(digest: string, image: OciConfig, layers: readonly string[]): ImageRecord {
  const { User, Env, WorkingDir, Entrypoint, Cmd } = image.config ?? {};
  const user = User?.split(":")[0];
  const variables = (Env ?? []).flatMap((line) => {
    const equals = line.indexOf("=");
    return equals > 0 && !line.includes("\0") ? [[line.slice(0, equals), line.slice(equals + 1)]] : [];
  });
  return {
    schema: 1,
    digest,
    platform: `${image.os}/${image.architecture}`,
    keptSinceMs: Date.now(),
    layers,
    defaults: {
      env: Object.fromEntries(variables),
      ...(user && user !== "root" && user !== "0" && { user }),
      ...(WorkingDir?.startsWith("/") && WorkingDir !== "/" && { directory: WorkingDir }),
    },
    entrypoint: Entrypoint ?? [],
    command: Cmd ?? [],
  };
}

export function unreadable(what: string): SandboxerError {
  return new SandboxerError("invalid_request", `${what} is not to be understood`, {
    hint: "An image is a manifest, a configuration and layers, as OCI or docker describe them.",
  });
}

export function json(bytes: Buffer, what: string): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    throw unreadable(what);
  }
}
