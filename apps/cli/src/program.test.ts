import type { Command } from "commander";
import { expect, it } from "vitest";
import { wordsOf } from "./commands/completion.ts";
import { bash, fish } from "./completion.ts";
import { buildProgram } from "./program.ts";

const program = await buildProgram({ version: "0", asJson: true });

interface Leaf {
  readonly name: string;
  readonly command: Command;
}

/** Every command that does something by itself, with its whole name. */
function leavesOf(command: Command, above: readonly string[] = []): Leaf[] {
  return command.commands.flatMap((one) => {
    const path = [...above, one.name()];
    const inner = leavesOf(one, path);
    const acts = inner.length === 0 || one.registeredArguments.length > 0;
    return acts ? [{ name: path.join(" "), command: one }, ...inner] : inner;
  });
}
const leaves = leavesOf(program);

it("has the commands of the plan", () => {
  const names = new Set(leaves.map(({ name }) => name));
  const planned =
    "up run create exec shell cp ls ps logs inspect pause resume snapshot restore fork diff apply rollback rm forward receipt events doctor backup completion";
  for (const name of planned.split(" ")) expect(names).toContain(name);
  for (const parent of ["profiles", "keys", "snapshots", "route", "images", "store"]) {
    expect([...names].some((name) => name.startsWith(`${parent} `))).toBe(true);
  }
  expect(names).toContain("backup restore");
});

it.each(leaves.map(({ name, command }) => [name, command] as const))(
  "%s says what it does, what it takes, and errors as JSON",
  (_name, command) => {
    expect(command.description()).toMatch(/^[a-z]/);
    expect(command.options.map(({ long }) => long)).toContain("--json");
    for (const option of command.options) expect(option.description).not.toBe("");
    for (const argument of command.registeredArguments) expect(argument.description).not.toBe("");
    let help = "";
    command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
    expect(help).toContain("Usage: sandboxer ");
  },
);

it("completes every command and every option", () => {
  const words = wordsOf(program);
  for (const { name, command } of leaves) {
    const word = words.find((one) => one.name === name);
    expect(word?.options).toEqual(command.options.flatMap(({ long }) => long ?? []));
    expect(bash(words)).toContain(`"${name}") words="`);
    expect(fish(words)).toContain(name.split(" ").at(-1));
  }
});

it.each([
  ["ecex", "exec"],
  ["creat", "create"],
  ["snapshto", "snapshot"],
  ["restor", "restore"],
  ["recipt", "receipt"],
])("knows what %s was meant to be", async (typo, meant) => {
  await expect(program.parseAsync([typo], { from: "user" })).rejects.toThrow(`Did you mean ${meant}?`);
});
