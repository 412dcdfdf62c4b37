import { SandboxerError } from "@sandboxer/contract";
import { expect, it } from "vitest";
import { stopThrough } from "./stop.ts";

const context = { installationId: "ins" };

/** A hold that answers each `freeze` with the next of these. */
function freezing(...answers: (SandboxerError | readonly string[])[]) {
  const callApart = async () => {
    const answer = answers.shift();
    if (answer instanceof SandboxerError) throw answer;
    return { layers: answer };
  };
  const never = () => Promise.reject(new Error("nothing is opened here"));
  const workshop = { hold: { callApart } } as unknown as Parameters<typeof stopThrough>[0];
  return { stop: stopThrough(workshop, never, never), left: answers };
}

it("waits for the disk of a stopped sandbox that somebody has just read", async () => {
  const busy = new SandboxerError("invalid_state", "its disk is still being put away");
  const { stop, left } = freezing(busy, busy, ["layer"]);
  expect(await stop.freeze("box", context)).toEqual(["layer"]);
  expect(left).toEqual([]);
});

it("waits for nothing else", async () => {
  const { stop } = freezing(new SandboxerError("unsupported", "no"), ["layer"]);
  expect(await stop.freeze("box", context)).toBeUndefined();
  const full = freezing(new SandboxerError("storage_full", "full"), ["layer"]).stop;
  await expect(full.freeze("box", context)).rejects.toMatchObject({ code: "storage_full" });
});
