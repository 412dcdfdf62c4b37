import { createHmac, timingSafeEqual } from "node:crypto";
import {
  type CreatePreviewBody,
  createPreviewBodySchema,
  type Principal,
  type Sandbox,
  SandboxerError,
} from "@sandboxer/contract";
import type { House } from "./house.ts";
import { holderOf } from "./keys.ts";
import { parse } from "./parse.ts";
import { authorize } from "./policy/authorize.ts";
import { locate } from "./reach.ts";

export interface PreviewGrant {
  readonly sandboxId: string;
  readonly port: number;
  readonly token: string;
  readonly expiresAtMs: number;
}

export interface PreviewEntry {
  readonly principal: Principal;
  readonly sandboxId: string;
  readonly port: number;
}

/** What a token says. It names a key and holds none: what the key may do is looked at on every use. */
interface Claims {
  readonly key: string;
  /** The attachment that it acts through, where it named one. */
  readonly attachment?: string;
  readonly sandbox: string;
  readonly port: number;
  readonly untilMs: number;
}

export async function openPreview(
  house: House,
  principal: Principal,
  idOrName: string,
  body: CreatePreviewBody,
): Promise<PreviewGrant> {
  authorize(principal.chain, "sandbox.ports");
  const { port, ttlMs } = parse(createPreviewBodySchema, body);
  const { sandbox } = await locate(house, principal, "sandbox.ports", idOrName, ["running"]);
  const expiresAtMs = house.clock.nowMs() + Math.min(ttlMs, leftOf(house, sandbox));
  const { keyId, attachmentId } = principal;
  const attachment = attachmentId === undefined ? {} : { attachment: attachmentId };
  const claims: Claims = { key: keyId, ...attachment, sandbox: sandbox.id, port, untilMs: expiresAtMs };
  const text = Buffer.from(JSON.stringify(claims)).toString("base64url");
  return {
    sandboxId: sandbox.id,
    port,
    token: `${text}.${(await sign(house, text)).toString("base64url")}`,
    expiresAtMs,
  };
}

/** Who a token speaks for. Whether that one may still reach the port is asked when it is dialled. */
export async function enterPreview(house: House, token: string): Promise<PreviewEntry> {
  const [text = "", signature = ""] = token.split(".");
  const given = Buffer.from(signature, "base64url");
  const right = await sign(house, text);
  if (given.length !== right.length || !timingSafeEqual(given, right)) {
    throw new SandboxerError("unauthenticated", "this is not a preview of this gateway's", { hint: HINT });
  }
  const { key, attachment, sandbox, port, untilMs } = JSON.parse(
    Buffer.from(text, "base64url").toString(),
  ) as Claims;
  if (untilMs <= house.clock.nowMs()) {
    throw new SandboxerError("unauthenticated", "this preview's time is up", { hint: HINT });
  }
  const holder = holderOf(house, await house.store.findKeyById(key));
  const principal = attachment === undefined ? holder : { ...holder, attachmentId: attachment };
  return { principal, sandboxId: sandbox, port };
}

const HINT = "Ask for a new address: `sandboxer preview <sandbox> <port>`.";

function leftOf(house: House, { expiresAtMs = Number.MAX_SAFE_INTEGER }: Sandbox): number {
  return Math.max(0, expiresAtMs - house.clock.nowMs());
}

async function sign(house: House, text: string): Promise<Buffer> {
  return createHmac("sha256", await house.previewSecret())
    .update(text)
    .digest();
}
