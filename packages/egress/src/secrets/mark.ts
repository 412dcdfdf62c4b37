import { PLACEHOLDER_MARK } from "@sandboxer/contract";
import { formsOf } from "./forms.ts";
import type { Loss } from "./loss.ts";
import type { Needle } from "./scan.ts";

/**
 * What every placeholder has in it, in each of its forms. A sandbox's own are looked for as a whole, and
 * begin no later: so what is found by this is another's, whoever that is and whether or not it still lives.
 */
export const FOREIGN: readonly Needle<Loss>[] = formsOf(PLACEHOLDER_MARK).map(({ bytes }) => ({
  bytes,
  means: { secret: "", what: "foreign" },
}));
