import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newRowId, newSandboxId, type Operation } from "@sandboxer/contract";
import { createRootKey, openSqliteStore } from "@sandboxer/core";
import { type Gateway, type GatewayOptions, openGateway } from "@sandboxer/gateway";
import { type Client, createClient } from "@sandboxer/sdk";
import { removeEngine } from "../../conformance/remove-engine.ts";
import type { Named } from "./operations.ts";

/** A gateway with two orgs on it, and keys of every kind that must not open anything. */
export interface Tenants {
  readonly gateway: Gateway;
  readonly root: Client;
  readonly owner: Client;
  readonly ownerKey: string;
  /** Another org's root key, with every right in its own. */
  readonly strangerKey: string;
  /** Of the same org, beside the owner's own agents. */
  readonly siblingKey: string;
  readonly revokedKey: string;
  readonly expiredKey: string;
  /** A valid key that may do nothing at all. */
  readonly powerlessKey: string;
  /** One that may look at what is its own and change nothing. */
  readonly readOnlyKey: string;
  /** Of the owner's own agents: it may look at what is its own, and run commands there. */
  readonly attenuatedKey: string;
  close(): Promise<void>;
}

/** All that a key that only reads is given. */
export const READING: Operation[] = [
  "sandbox.read",
  "key.read",
  "event.read",
  "approval.read",
  "secret.read",
];
export const NARROW: Operation[] = ["sandbox.read", "sandbox.exec"];

export async function openTenants(options: Partial<GatewayOptions> = {}): Promise<Tenants> {
  const home = await mkdtemp(join(tmpdir(), "sandboxer-tenants-"));
  const gateway = await openGateway({ home, listen: false, log: () => {}, ...options });
  const clientOf = (apiKey: string) =>
    createClient({
      url: gateway.url ?? "http://localhost",
      apiKey,
      ...(gateway.url ? {} : { fetch: gateway.fetch }),
    });
  const root = clientOf(gateway.apiKey);
  const derive = async (body: Parameters<typeof root.keys.create>[0]) =>
    (await root.keys.create(body)).apiKey;
  const store = openSqliteStore(join(home, "state.db"));
  const { apiKey: strangerKey } = await createRootKey(store);
  await store.close();

  const revoked = await root.keys.create({ name: "revoked" });
  await root.keys.revoke(revoked.key.id);
  const { expiredKey, expiresAtMs } = await endingSoon(derive);
  const ownerKey = await derive({ name: "owner" });
  while (Date.now() <= expiresAtMs) await new Promise((resolve) => setTimeout(resolve, 10));
  return {
    gateway,
    root,
    owner: clientOf(ownerKey),
    ownerKey,
    strangerKey,
    siblingKey: await derive({ name: "sibling" }),
    revokedKey: revoked.apiKey,
    expiredKey,
    powerlessKey: await derive({ name: "powerless", operations: [] }),
    readOnlyKey: await derive({ name: "reader", operations: READING }),
    attenuatedKey: (await clientOf(ownerKey).keys.create({ name: "narrow", operations: NARROW })).apiKey,
    async close() {
      for await (const one of root.sandboxes.all({ states: ["running", "paused"] })) await one.destroy();
      await gateway.close();
      await removeEngine(join(home, "engine"), home);
    },
  };
}

/** On a machine that is busy its end may have come before the key: then with more time. */
async function endingSoon(derive: (body: { name: string; expiresAtMs: number }) => Promise<string>) {
  for (let lastsMs = 1_500; ; lastsMs *= 3) {
    const expiresAtMs = Date.now() + lastsMs;
    const expiredKey = await derive({ name: "expired", expiresAtMs }).catch((error) => {
      if (lastsMs > 30_000) throw error;
      return undefined;
    });
    if (expiredKey !== undefined) return { expiredKey, expiresAtMs };
  }
}

/** Names of the right form that nothing carries. */
export function absent(): Named {
  return {
    id: newSandboxId(),
    process: "p0",
    port: "9",
    connection: newRowId("con"),
    key: newRowId("key"),
    ref: "nosuch@9",
    webhook: newRowId("whk"),
    attachment: newRowId("att"),
    snapshot: newRowId("snp"),
    secret: "NOSUCH",
    grantee: newRowId("key"),
    approval: newRowId("apr"),
    volume: newRowId("vol"),
  };
}
