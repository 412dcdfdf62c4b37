import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { type MirrorState, mirrorStates } from "./state.ts";

const STATE = {
  mode: "mirror",
  target: "/workspace",
  pinned: {} as MirrorState["pinned"],
  base: { host: new Map(), inside: new Map() },
} satisfies MirrorState;

function open() {
  const dir = mkdtempSync(join(tmpdir(), "sandboxer-mirror-state-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return { states: mirrorStates(dir), kept: () => readdirSync(join(dir, "mirrors")).sort(), dir };
}

it("forgets the sandboxes that are no more, with what somebody was writing of them", async () => {
  const { states, kept, dir } = open();
  for (const ref of ["gone", "lives"]) await states.write(ref, STATE);
  writeFileSync(join(dir, "mirrors/gone.json.999999999.new"), "");
  expect(await states.keepOf(async () => [{ ref: "lives" }])).toEqual([{ ref: "lives" }]);
  expect(kept()).toEqual(["lives.json"]);
});

it("keeps what is written of a sandbox that came to be while the others were listed", async () => {
  const { states, kept } = open();
  await states.write("gone", STATE);
  await states.keepOf(async () => {
    await states.write("new", STATE);
    return [];
  });
  expect(kept()).toEqual(["new.json"]);
  expect(await states.read("new")).toEqual(STATE);
});
