import { type Principal, SandboxerError } from "@sandboxer/contract";
import type { ListQuery, SandboxPage } from "./core.ts";
import type { House } from "./house.ts";
import { authorize } from "./policy/authorize.ts";
import { viewerOf } from "./reach.ts";

const LONGEST_PAGE = 200;

export async function list(house: House, principal: Principal, query: ListQuery = {}): Promise<SandboxPage> {
  authorize(principal.chain, "sandbox.read");
  const { states, name, after, limit = 50 } = query;
  if (!Number.isInteger(limit) || limit < 1 || limit > LONGEST_PAGE) {
    throw new SandboxerError("invalid_request", `limit: a whole number from 1 to ${LONGEST_PAGE}`);
  }
  // One more than asked tells whether another page follows.
  const rows = await house.store.listSandboxes({
    orgId: principal.orgId,
    viewer: viewerOf(principal),
    states,
    name,
    after,
    limit: limit + 1,
  });
  const sandboxes = rows.slice(0, limit);
  const last = sandboxes.at(-1);
  return rows.length > limit && last ? { sandboxes, next: last.id } : { sandboxes };
}
