import type { Preview } from "@sandboxer/contract";

/** Browsers take every name below `localhost` for this machine. */
const DEFAULT_PREVIEW_HOST = "preview.localhost";
const PATH = /^\/preview\/([\w-]+\.[\w-]+)(\/[^?]*)?(\?.*)?$/;

/** The parameter and the cookie that carry a token, and the header for programs. */
export const TOKEN_NAME = "sandboxer-preview";
export const TOKEN_HEADER = "x-sandboxer-preview";

/** A port inside, by its name or by its token; never the API. */
export type PreviewAddress =
  | { readonly kind: "host"; readonly sandboxId: string; readonly port: number; readonly rest: string }
  | { readonly kind: "path"; readonly token: string; readonly rest: string };

export interface PreviewPlace {
  readonly host: string;
  /** What a request asks for, where it asks for a preview at all. */
  find(host: string, url: string): PreviewAddress | undefined;
  /** Whether a host name is the API's own beside the previews', as E2B's clients want one. */
  isApi(host: string): boolean;
  /** What previews' names end with, as this gateway is reached. */
  domainOf(own: URL): string;
  /** The addresses of one grant, as this gateway is reached. */
  addressesOf(
    grant: { sandboxId: string; port: number; token: string },
    own: URL,
  ): Pick<Preview, "url" | "pathUrl">;
}

export function previewPlace(previewHost = DEFAULT_PREVIEW_HOST): PreviewPlace {
  const name = previewHost.toLowerCase();
  const pattern = new RegExp(`^([1-9]\\d{0,4})-([a-z0-9]{20})\\.${literally(name)}(?::\\d{1,5})?$`);
  return {
    host: name,
    find(host, url) {
      const [, port, sandboxId] = pattern.exec(host.toLowerCase()) ?? [];
      if (port && sandboxId) return { kind: "host", sandboxId, port: Number(port), rest: url };
      const [whole, token = "", path, query = ""] = PATH.exec(url) ?? [];
      return whole ? { kind: "path", token, rest: (path ?? "/") + query } : undefined;
    },
    isApi: (host) => host.toLowerCase().replace(/:\d{1,5}$/, "") === `api.${name.replace(/:\d{1,5}$/, "")}`,
    domainOf: (own) => (own.port && !name.includes(":") ? `${name}:${own.port}` : name),
    addressesOf({ sandboxId, port, token }, own) {
      const suffix = own.port && !name.includes(":") ? `:${own.port}` : "";
      return {
        url: `${own.protocol}//${port}-${sandboxId}.${name}${suffix}/?${TOKEN_NAME}=${token}`,
        pathUrl: `${own.origin}/preview/${token}/`,
      };
    },
  };
}

/** For a regular expression. */
function literally(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
