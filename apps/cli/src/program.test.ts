import {
  consumerSchema,
  createBodySchema,
  ISOLATION_CLASSES,
  ROUTING_POLICIES,
  VISIBILITIES,
} from "@sandboxer/contract";
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { wordsOf } from "./completion/words.ts";
import { CHOICES } from "./create-options.ts";
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

it("stays within a narrow terminal", () => {
  const [run] = program.commands.filter((one) => one.name() === "run");
  const configured = run?.configureOutput({ getOutHelpWidth: () => 60 });
  const [options = ""] = helpOf(configured as Command).split("\nWhat is piped");
  for (const line of options.split("\n")) expect(line.length, line).toBeLessThanOrEqual(60);
});

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
    const options = words.find((one) => one.name === name)?.options.map(({ word }) => word);
    expect(options, name).toEqual(command.options.flatMap(({ long }) => long ?? []));
  }
});

describe("options of what makes a sandbox", () => {
  const named = (name: string) => leaves.find((leaf) => leaf.name === name)?.command as Command;
  const flagsOf = (name: string) => named(name).options.map(({ flags }) => flags);

  it("are the same to make one and to ask where it would go", () => {
    const own = ["--idempotency-key <key>"];
    expect(flagsOf("route explain")).toEqual(flagsOf("create").filter((flags) => !own.includes(flags)));
    const ofTheCommand = ["-t, --tty", "--timeout <time>", "--cwd <folder>", "-u, --user <user>"];
    const ofTheSandbox = flagsOf("run").filter((flags) => !ofTheCommand.includes(flags));
    expect(ofTheSandbox.length).toBeGreaterThan(15);
    expect(flagsOf("create")).toEqual(expect.arrayContaining(ofTheSandbox));
  });

  it("stand by their topic, what is used most first", () => {
    const topics = (name: string) =>
      [...helpOf(named(name)).matchAll(/^(\S.*:)\n +-/gm)].map(([, heading]) => heading);
    const common = [
      "Options:",
      "Your folder:",
      "What it is made of:",
      "What it may reach:",
      "What it may use:",
    ];
    expect(topics("run")).toEqual(common);
    const kept = ["How long it stays:", "Where it runs:", "Whom it is for:"];
    expect(topics("create")).toEqual([...common, ...kept]);
    expect(topics("route explain")).toEqual([...common, ...kept]);
  });

  it("know each word that the contract takes", () => {
    const { isolation, visibility, policy, for: kinds, atEnd } = CHOICES;
    expect(isolation).toEqual(ISOLATION_CLASSES);
    expect(visibility).toEqual(VISIBILITIES);
    expect(policy).toEqual(ROUTING_POLICIES);
    expect(kinds).toEqual(consumerSchema.shape.kind.unwrap().options);
    expect(atEnd).toEqual(createBodySchema.shape.atEnd.unwrap().options);
  });
});
