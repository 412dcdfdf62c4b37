import fc from "fast-check";
import { expect, it } from "vitest";
import { TerminalModes } from "./terminal-modes.ts";

const after = (...parts: string[]) => {
  const modes = new TerminalModes();
  for (const part of parts) modes.read(Buffer.from(part));
  return modes.takenBack();
};

/** As vim begins in xterm. */
const VIM =
  "\x1b[?1049h\x1b[22;0;0t\x1b[>4;2m\x1b[?1h\x1b=\x1b[?2004h\x1b[?1004h\x1b[1;40r\x1b[?25l\x1b[34mx";

it("takes back what an editor asked for, its screen last of all modes", () => {
  expect(after(VIM)).toBe(
    "\x1b[?1l\x1b[?2004l\x1b[?1004l\x1b[?25h\x1b>\x1b[>4m\x1b[?1049l\x1b7\x1b[r\x1b8\x1b[m",
  );
});

it("adds nothing where nothing is left to take back", () => {
  expect(after("plain\r\n\x1b[1mbold\x1b[0m \x1b[2K\x1b[?25l\x1b[?25h\x1b[10;2H")).toBe("");
  const leaves = "\x1b[?1l\x1b>\x1b[>4;m\x1b[?2004l\x1b[?1004l\x1b[r\x1b[?25h\x1b[?1049l\x1b[m";
  expect(after(VIM, leaves)).toBe("");
  expect(after(VIM, "\x1bc"), "a reset is all of it").toBe("");
});

it.each([
  ["a mouse", "\x1b[?1000;1006h", "\x1b[?1000l\x1b[?1006l"],
  ["lines that do not wrap", "\x1b[?7l", "\x1b[?7h"],
  ["keys as kitty tells them", "\x1b[>1u\x1b[>5u\x1b[<u", "\x1b[<1u"],
  ["a cursor of another shape", "\x1b[6 q", "\x1b[0 q"],
])("takes back %s", (_, asked, back) => expect(after(asked)).toBe(back));

it("reads sequences wherever they are cut", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(VIM.length), { maxLength: 6 }), (cuts) => {
      const places = [0, ...cuts.toSorted((a, b) => a - b), VIM.length];
      const parts = places.slice(1).map((to, at) => VIM.slice(places[at], to));
      expect(after(...parts)).toBe(after(VIM));
    }),
  );
});

it("has no room for modes that no terminal has", () => {
  expect(after("\x1b[?12345;1000;;99999h")).toBe("\x1b[?1000l");
});

it("keeps no more of what never ends than it reads", () => {
  expect(after(`\x1b[?${"1;".repeat(50_000)}`, "h")).toBe("");
});
