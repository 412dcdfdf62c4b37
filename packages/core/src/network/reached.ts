import { type Reached, type ReachedPlace, reachedSchema, type Sandbox } from "@sandboxer/contract";
import type { House } from "../house.ts";
import { parse } from "../parse.ts";

/** All that a sandbox reached in its life, through however many gateways: what was counted is written first. */
export async function reachedBy(
  house: House,
  { orgId, id }: Pick<Sandbox, "orgId" | "id">,
): Promise<Reached> {
  await house.reaching.tell(id);
  await house.journal.flush();
  const written = await house.store.listReached(orgId, id);
  return sumOf(written.map(({ data }) => parse(reachedSchema, { others: 0, ...data })));
}

function sumOf(parts: readonly Reached[]): Reached {
  const places = new Map<string, ReachedPlace>();
  for (const { times, upBytes, downBytes, ...place } of parts.flatMap((part) => part.places)) {
    const key = JSON.stringify(place);
    const known = places.get(key) ?? { times: 0, upBytes: 0, downBytes: 0 };
    places.set(key, {
      ...place,
      times: known.times + times,
      upBytes: known.upBytes + upBytes,
      downBytes: known.downBytes + downBytes,
    });
  }
  return { places: [...places.values()], others: parts.reduce((sum, { others }) => sum + others, 0) };
}
