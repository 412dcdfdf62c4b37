import type { Command } from "commander";
import { expect, it } from "vitest";
import { wordsOf } from "./commands/completion.ts";
import { bash, fish } from "./completion.ts";
import { buildProgram } from "./program.ts";

const program = await buildProgram("0");

interface Leaf {
  readonly name: string;
  readonly command: Command;
}

/** What `--help` prints. */
function helpOf(command: Command): string {
  let help = "";
  command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
  return help;
}

/** Every command there is, groups included. */
const allOf = (command: Command): Command[] => command.commands.flatMap((one) => [one, ...allOf(one)]);

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
    expect(helpOf(command)).toContain("Usage: sandboxer ");
  },
);

it("shows examples with every command, in words that it knows", () => {
  const all = allOf(program);
  expect(all.length).toBeGreaterThan(leaves.length);
  for (const command of all) {
    const [, examples = ""] = helpOf(command).split(/^Examples?:$/m);
    expect(examples, `${command.name()} has no example`).toMatch(/^ {2}[$#] /m);
    for (const [, words = ""] of examples.matchAll(/\bsandboxer ([^|&<>()$\n]+)/g))
      needKnown(words.trim().split(/ +/));
  }
  expect(() => needKnown(["ls", "--nonsense"]), "control").toThrow();
});

/** Names a command, and after it only options which that one has. */
function needKnown(words: readonly string[]): void {
  let at: Command = program;
  const rest = words.slice(0, words.includes("--") ? words.indexOf("--") : undefined);
  const below = () => at.commands.find((one) => one.name() === rest[0]);
  for (let next = below(); next; next = below()) {
    at = next;
    rest.shift();
  }
  expect(at, words.join(" ")).not.toBe(program);
  const known = at.options.flatMap(({ long, short }) => [long, short]);
  for (const word of rest.filter((one) => one.startsWith("-") && one !== "-"))
    expect(known, words.join(" ")).toContain(word.split("=")[0]);
}

it("says of every time and every size what a number alone means", () => {
  const said = allOf(program).flatMap(({ options }) => options);
  const times = said.filter(({ flags }) => /<time>/.test(flags));
  expect(times.length).toBeGreaterThan(5);
  for (const { description } of times) expect(description).toContain("a number alone is seconds");
  const memory = said.filter(({ long }) => long === "--memory");
  for (const { description } of memory) expect(description).toContain("a number alone is MiB");
});

it("completes every command and every option", () => {
  const words = wordsOf(program);
  for (const { name, command } of leaves) {
    const word = words.find((one) => one.name === name);
    expect(word?.options).toEqual(command.options.flatMap(({ long }) => long ?? []));
    expect(bash(words)).toContain(`"${name}") words="`);
    expect(fish(words)).toContain(name.split(" ").at(-1));
  }
});
