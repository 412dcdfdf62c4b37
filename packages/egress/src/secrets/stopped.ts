import type { Misuse } from "@sandboxer/contract";
import type { Loss } from "./loss.ts";

/** A request that the rules would allow, and that must not be made all the same. */
export class Refused extends Error {}

/** A secret, or what stands for one, was about to leave by a way that is not its own. */
export class Stopped extends Refused {
  readonly misuse: Pick<Misuse, "secret" | "what" | "place">;

  constructor({ secret, what }: Loss, place: Misuse["place"]) {
    super(
      what === "foreign"
        ? "it holds the placeholder of another sandbox's secret"
        : `it holds the ${what} of the secret ${secret} where that may not go`,
    );
    this.misuse = { secret, what, place };
  }
}
