import { type Sandbox, type Usage, usageSchema } from "@sandboxer/contract";
import type { House } from "../house.ts";
import { parse } from "../parse.ts";

/** What an audited sandbox had used when that was last written down, by whichever gateway. */
export async function usageWritten(
  { journal, store }: Pick<House, "journal" | "store">,
  { orgId, id }: Pick<Sandbox, "orgId" | "id">,
): Promise<Usage | undefined> {
  await journal.flush();
  const last = (await store.listBirth(orgId, id)).findLast(({ type }) => type === "sandbox.audited");
  return last && (parse(usageSchema, last.data.usage) as Usage);
}
