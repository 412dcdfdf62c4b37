import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Made } from "./image-maker.ts";

/** Answers instead of the registry, if it wants to; says whether it did. */
export type Meddle = (request: IncomingMessage, response: ServerResponse) => boolean;

export interface FalseRegistry {
  readonly host: string;
  /** What was asked, in order. */
  readonly asked: { readonly path: string; readonly authorization: string | undefined }[];
  meddle: Meddle;
  close(): Promise<void>;
}

/** A registry that has one image, `tools:1`, and does with requests what a test wants. */
export async function startFalseRegistry({ blobs, manifests }: Made): Promise<FalseRegistry> {
  const asked: FalseRegistry["asked"] = [];
  const serve = (path: string, response: ServerResponse): void => {
    const name = path.split("/").at(-1) ?? "";
    const manifest =
      manifests.find(({ digest }) => digest === name) ?? (name === "1" ? manifests.at(-1) : undefined);
    const bytes = path.includes("/manifests/") ? manifest?.bytes : blobs.get(name);
    if (!bytes) return void response.writeHead(404).end("{}");
    if (manifest) response.setHeader("content-type", manifest.mediaType);
    response.writeHead(200, { "content-length": bytes.length }).end(bytes);
  };
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    asked.push({ path, authorization: request.headers.authorization });
    if (!registry.meddle(request, response)) serve(path, response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const registry: FalseRegistry = {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    meddle: () => false,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return registry;
}
