import type { Misuse } from "@sandboxer/contract";

/** What a needle that goes out would give away. */
export interface Loss {
  readonly secret: string;
  readonly what: Misuse["what"];
}
