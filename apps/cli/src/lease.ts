import { type CreateBody, type PublishedProfile, SandboxerError } from "@sandboxer/contract";
import type { Client, Sandbox } from "@sandboxer/sdk";

/** How long a sandbox outlives whoever no longer renews it. */
const LEASE_MS = 60_000;
const RENEW_EVERY_MS = 15_000;

/**
 * Works in a sandbox of this profile and destroys it. Where that waits for somebody's word, it has
 * only a short life, renewed while the work goes on: nobody has to come for it to end.
 */
export async function onLease<T>(
  { sandboxes }: Client,
  { name, version, resolved }: PublishedProfile,
  work: (sandbox: Sandbox) => Promise<T>,
): Promise<T> {
  const waits = resolved.approvals?.includes("sandbox.destroy") ?? false;
  const sandbox = await sandboxes.create({
    profile: `${name}@${version}`,
    ...(waits && shortLife(resolved)),
  });
  const renew = () => void sandbox.extend(LEASE_MS).catch(() => {});
  const timer = waits ? setInterval(renew, RENEW_EVERY_MS) : undefined;
  try {
    return await work(sandbox);
  } finally {
    clearInterval(timer);
    await leave(sandbox);
  }
}

function shortLife({ ttlMs = LEASE_MS, persistence, atEnd }: PublishedProfile["resolved"]): CreateBody {
  const life = { ttlMs: Math.min(ttlMs, LEASE_MS) };
  if (persistence !== "persistent") return life;
  return atEnd === "stop" ? { ...life, keepMs: LEASE_MS } : { ...life, atEnd: "destroy" };
}

async function leave(sandbox: Sandbox): Promise<void> {
  try {
    await sandbox.destroy();
  } catch (error) {
    const { code, message } = SandboxerError.from(error);
    if (code !== "approval_required") throw error;
    process.stderr.write(`${sandbox.id} ends by itself within a minute: ${message}\n`);
  }
}
