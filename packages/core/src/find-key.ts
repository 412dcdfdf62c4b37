import { type Key, type Principal, SandboxerError } from "@sandboxer/contract";
import type { House } from "./house.ts";

/** So much of an id that nobody types it by accident. */
const LEAST_OF_AN_ID = 8;

/**
 * One of the caller's own keys and those derived from it, as `keys ls` shows them: by id, by name, or
 * by the beginning of its id. What lies beside or above is as absent as what never was. Of several,
 * only an id chooses: whoever revokes must not hit another's.
 */
export async function findKey(
  house: House,
  { orgId, keyId }: Principal,
  word: string,
  isMeant: (key: Key) => boolean = () => true,
): Promise<Key> {
  const all = await house.store.listKeys(orgId, keyId);
  const exact = all.find(({ id }) => id === word);
  if (exact) return exact;
  const begins = ({ id }: Key) => word.length >= LEAST_OF_AN_ID && id.startsWith(word);
  const named = all.filter((key) => isMeant(key) && (key.name === word || begins(key)));
  const [key] = named;
  if (!key) throw new SandboxerError("not_found", `no key ${word}`);
  if (named.length === 1) return key;
  throw new SandboxerError("conflict", `${named.length} keys are called ${word}`, {
    details: { keys: named.map(({ id }) => id) },
    hint: "Use the id of the one you mean, as `sandboxer keys ls` shows it.",
  });
}
