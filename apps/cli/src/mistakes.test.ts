import { SandboxerError } from "@sandboxer/contract";
import { CommanderError } from "commander";
import { expect, it } from "vitest";
import { FOREIGN } from "./foreign-words.ts";
import { asOurs, refuseUnknownWord } from "./mistakes.ts";
import { buildProgram } from "./program.ts";

const program = await buildProgram("0");

function refusalOf(...words: string[]): SandboxerError {
  try {
    refuseUnknownWord(program, words);
  } catch (error) {
    if (SandboxerError.is(error)) return error;
  }
  throw new Error(`${words.join(" ")} is taken`);
}

it.each([
  ["ecex", "Did you mean exec?"],
  ["creat", "Did you mean create?"],
  ["snapshto", "Did you mean snapshot?"],
  ["restor", "Did you mean restore?"],
  ["recipt", "Did you mean receipt?"],
  ["delete", "Here that is `sandboxer rm`."],
  ["pull", "Here that is `sandboxer images pull`."],
  ["ssh", "Here that is `sandboxer shell`."],
  ["images delete", "Here that is `sandboxer images rm`."],
  ["keys remove", "Here that is `sandboxer keys revoke`."],
  ["images pul", "Did you mean pull?"],
  ["zzzzz", "`sandboxer --help` shows what there is."],
  ["volumes zzzzz", "`sandboxer volumes --help` shows what there is."],
  ["help delete", "Here that is `sandboxer rm`."],
])("knows what %s was meant to be", (words, hint) => {
  expect(refusalOf(...words.split(" "))).toMatchObject({ code: "invalid_request", hint });
});

it.each(["ls", "images", "images ls", "help", "help run", "backup file", "--version", "exec delete"])(
  "lets %s pass",
  (words) => expect(() => refuseUnknownWord(program, words.split(" "))).not.toThrow(),
);

it("leads from another tool's word to a command that is there, and from no word of its own", () => {
  for (const [word, here] of Object.entries(FOREIGN)) {
    if (here.startsWith("-")) continue;
    expect(() => refuseUnknownWord(program, here.split(" ")), here).not.toThrow();
    expect(program.commands.map((one) => one.name())).toContain(here.split(" ")[0]);
    expect(() => refuseUnknownWord(program, [word]), word).toThrow();
  }
});

it.each([
  [["run"], "missing required argument 'argv'", "sandboxer run -- echo hello"],
  [["cp"], "missing required argument 'from'", "It goes: sandboxer cp"],
  [["ls", "more"], "too many arguments for 'ls'", "It goes: sandboxer ls [options]"],
  [["run", "--timout", "1s", "true"], "unknown option '--timout'", "Did you mean --timeout?"],
  [["run", "--nonsense", "true"], "unknown option '--nonsense'", "`sandboxer run --help`"],
  [["create", "--ttl", "soon"], "'soon' is invalid", "Give a time such as 90s"],
  [["up", "--log", "loud"], "'loud' is invalid", "Allowed choices are json, text."],
  [["forward", "a", "b"], "'b' is invalid for argument 'ports'", "A port is a number"],
  [["run", "-it", "--", "bash"], "unknown option '-it'", "Here that is -t"],
  [["exec", "-w", "/tmp", "demo", "pwd"], "unknown option '-w'", "Here that is --cwd"],
  [["cp", "-r", "src", "demo:"], "unknown option '-r'", "with all that is in it"],
  [["extend", "demo", "--ttl", "1h"], "unknown option '--ttl'", "sandboxer extend build 1h"],
  [["exec", "-i", "demo", "cat"], "unknown option '-i'", "is passed on by itself"],
  [["run", "--rm", "--", "true"], "unknown option '--rm'", "goes with its command"],
  [["rm", "-f", "demo"], "unknown option '-f'", "asks nobody"],
  [["diff", "--name-only"], "unknown option '--name-only'", "Here that is --stat"],
  [["create", "-p", "80:80"], "unknown option '-p'", "sandboxer forward"],
  [["apply", "-it"], "unknown option '-it'", "`sandboxer apply --help`"],
  [["--json", "ls"], "unknown option '--json'", "sandboxer ls --json"],
  [["create", "demo"], "too many arguments for 'create'", "sandboxer create --name demo"],
  [["shell", "demo", "ls"], "too many arguments for 'shell'", "sandboxer exec demo -- ls"],
  [["secrets", "set", "A"], "required option '--to <place>' not specified", "`sandboxer secrets set --help`"],
])("says what the parser finds wrong in %j as everything else is said", async (args, message, hint) => {
  const found = await program.parseAsync(args, { from: "user" }).catch((error) => error);
  expect(found).toBeInstanceOf(CommanderError);
  const ours = asOurs(found, program, args);
  expect(ours.code).toBe("invalid_request");
  expect(ours.message).toContain(message);
  expect(ours.message).not.toMatch(/^error:|\n/);
  expect(ours.hint).toContain(hint);
});
