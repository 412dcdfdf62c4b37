import type { IncomingMessage } from "node:http";
import { sandboxIdSchema } from "@sandboxer/contract";
import { type PreviewAddress, type PreviewPlace, TOKEN_HEADER, TOKEN_NAME } from "../previews/address.ts";
import { cookiesOf } from "../previews/headers.ts";

/** Ports that mean us and nothing inside. */
export const ENVD_PORT = 49_983;
export const INTERPRETER_PORT = 49_999;

const CONTROL = /^\/(?:v[23]\/)?(?:sandboxes|templates|snapshots|volumes|secrets|teams)(?:[/?]|$)/;
const VOLUME = /^\/volumecontent\/(vol_[a-z0-9]{20})\/(path|dir|file)(?:\?|$)/;
const UPLOAD = /^\/templates\/uploads\/([\w-]{43})$/;
const SIGNED_FILE = /^\/files\?(?:.*&)?signature=/;

/** Where a request of E2B's clients goes. */
export type Address =
  | { readonly kind: "control" }
  /** An archive for a build, let in by the word in its address. */
  | { readonly kind: "upload"; readonly token: string }
  /** What is in a volume, let in by the volume's own token. */
  | { readonly kind: "volume"; readonly volumeId: string; readonly what: "path" | "dir" | "file" }
  /** A port of a sandbox, by its host name or by the headers that clients send. */
  | {
      readonly kind: "sandbox";
      readonly sandboxId: string;
      readonly port: number;
      readonly preview?: PreviewAddress;
    }
  /** A signed file's address, which names no sandbox: its signature does. */
  | { readonly kind: "signed" };

/** By host where that says it, else by E2B's headers, else by the path. */
export function findAddress(incoming: IncomingMessage, place: PreviewPlace): Address | undefined {
  const { headers, url = "" } = incoming;
  const host = headers.host ?? "";
  const named = place.find(host, url);
  if (named?.kind === "path") return undefined;
  if (named) {
    const { sandboxId, port } = named;
    const isOurs = port === ENVD_PORT || port === INTERPRETER_PORT || !carriesToken(incoming);
    return isOurs ? { kind: "sandbox", sandboxId, port, preview: named } : undefined;
  }
  const token = UPLOAD.exec(url)?.[1];
  if (token !== undefined) return { kind: "upload", token };
  const [, volumeId, what] = VOLUME.exec(url) ?? [];
  if (volumeId !== undefined) return { kind: "volume", volumeId, what: what as "path" };
  if (place.isApi(host)) return { kind: "control" };
  const asked = headers["e2b-sandbox-id"];
  if (typeof asked === "string") {
    const port = Number(headers["e2b-sandbox-port"] ?? ENVD_PORT);
    return { kind: "sandbox", sandboxId: idOf(asked), port };
  }
  if (SIGNED_FILE.test(url)) return { kind: "signed" };
  return CONTROL.test(url) ? { kind: "control" } : undefined;
}

/** A preview of the house's own, whose address says who lets in. */
function carriesToken({ headers, url = "" }: IncomingMessage): boolean {
  if (headers[TOKEN_HEADER] !== undefined || url.includes(`${TOKEN_NAME}=`)) return true;
  return cookiesOf(headers.cookie).some(([name]) => name === TOKEN_NAME);
}

/** Older clients append where it runs; what is no id at all is nobody's. */
export function idOf(asked: string): string {
  const [id = ""] = asked.split("-");
  return sandboxIdSchema.safeParse(id).success ? id : "";
}
