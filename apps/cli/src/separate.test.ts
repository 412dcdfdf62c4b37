import { Command } from "commander";
import { expect, it } from "vitest";
import { register } from "./commands/exec.ts";
import { separated } from "./separate.ts";

const program = new Command();
register(program);
const exec = program.commands[0] as Command;

it.each([
  ["cc ls -la", "cc -- ls -la"],
  ["cc --cwd /tmp ls -la", "cc --cwd /tmp -- ls -la"],
  ["-t cc -e A=b --cwd=/tmp sh -c x", "-t cc -e A=b --cwd=/tmp -- sh -c x"],
  ["cc -- ls -la", "cc -- ls -la"],
  ["cc --cwd /tmp -- ls", "cc --cwd /tmp -- ls"],
  ["cc", "cc"],
  ["--frobnicate cc", "--frobnicate cc"],
])("%s is %s", (typed, meant) => {
  expect(separated(typed.split(" "), exec, 1).join(" ")).toBe(meant);
});
