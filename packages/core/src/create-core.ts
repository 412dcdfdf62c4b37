import { SandboxerError } from "@sandboxer/contract";
import { answerAsks } from "./approvals/connections.ts";
import { createBackground } from "./background.ts";
import type { Core } from "./core.ts";
import { recordIfDenied } from "./events/denials.ts";
import { recordMisuses } from "./events/misuses.ts";
import type { House } from "./house.ts";
import { type CoreOptions, openHouse } from "./open-house.ts";
import { verbsOf } from "./verbs.ts";

export type { CoreOptions } from "./open-house.ts";

export async function createCore(options: CoreOptions): Promise<Core> {
  // A connection that breaks by itself is the first word of a box that died.
  const house = await openHouse(options, (id) => house.teardowns.has(id) || background.lookSoon());
  const background = createBackground(house);
  if (house.guard) {
    recordMisuses(house, house.guard);
    house.guard.onCall(house.reaching.heard);
    answerAsks(house, house.guard);
  }
  const verb = onlyOurErrors(house);

  return {
    ...verbsOf(verb),
    start: verb(background.start),
    close: verb(background.close),
  };
}

/** Gives a verb its house; whatever it throws leaves as one of ours. */
function onlyOurErrors(house: House) {
  return <Arguments extends unknown[], Result>(
    verb: (house: House, ...given: Arguments) => Promise<Result>,
  ) =>
    async (...given: Arguments): Promise<Result> => {
      try {
        return await verb(house, ...given);
      } catch (thrown) {
        const error = SandboxerError.from(thrown);
        recordIfDenied(house.denials, verb.name, given, error);
        throw error;
      }
    };
}
