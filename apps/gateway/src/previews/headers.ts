import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";
import { TOKEN_HEADER, TOKEN_NAME } from "./address.ts";

/** Of one connection only: they say nothing about what is sent on. */
const HOP_BY_HOP = [
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];
/** What a sandbox must not say in the name of this gateway's host. */
const NOT_ITS_TO_SAY = ["strict-transport-security", "public-key-pins", "nel", "report-to"];
/** Ours: a sandbox never sees how its visitor was let in. */
const OURS = [TOKEN_HEADER, "x-api-key", "x-forwarded-for", "x-real-ip", "forwarded"];
const KEY = /^Bearer +e2b_[0-9a-f]{16,}$/i;

export function cookiesOf(header = ""): (readonly [name: string, value: string])[] {
  return header.split(";").flatMap((part) => {
    const cut = part.indexOf("=");
    return cut < 0 ? [] : [[part.slice(0, cut).trim(), part.slice(cut + 1).trim()] as const];
  });
}

/** What the sandbox is told of a request. */
export function inwards(headers: IncomingHttpHeaders, more: OutgoingHttpHeaders): OutgoingHttpHeaders {
  const passed = withoutHops(headers);
  for (const name of OURS) delete passed[name];
  if (KEY.test(headers.authorization ?? "")) delete passed.authorization;
  const cookies = cookiesOf(headers.cookie).filter(([name]) => name !== TOKEN_NAME);
  delete passed.cookie;
  if (cookies.length > 0) passed.cookie = cookies.map(([name, value]) => `${name}=${value}`).join("; ");
  return { ...passed, "x-forwarded-host": headers.host, ...more };
}

/** What the visitor is told of an answer. Cookies stay with the one host that they came from. */
export function outwards(headers: IncomingHttpHeaders, kind: "host" | "path"): OutgoingHttpHeaders {
  const passed = withoutHops(headers);
  for (const name of NOT_ITS_TO_SAY) delete passed[name];
  delete passed["set-cookie"];
  const cookies = (headers["set-cookie"] ?? [])
    .filter((text) => !text.trimStart().startsWith(`${TOKEN_NAME}=`))
    .map((text) => text.replace(/;\s*domain\s*=[^;]*/gi, ""));
  if (kind === "host") return cookies.length > 0 ? { ...passed, "set-cookie": cookies } : passed;
  // On the API's own origin: there a page of the sandbox's is a stranger without cookies or storage.
  const policies = [headers["content-security-policy"], APART].flat().filter((one) => one !== undefined);
  return { ...passed, "content-security-policy": policies.join(", "), "referrer-policy": "no-referrer" };
}

const APART = "sandbox allow-scripts allow-forms allow-modals allow-popups allow-downloads";

function withoutHops(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const named = (headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase());
  const dropped = new Set([...HOP_BY_HOP, ...named]);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !dropped.has(name)));
}
