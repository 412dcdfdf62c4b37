import type { PublishedProfile } from "@sandboxer/contract";
import { dollars } from "@sandboxer/contract/dollars";
import type { Command } from "commander";
import { printable } from "../printable.ts";
import { span, table } from "../table.ts";

interface Options {
  readonly json?: true;
  readonly all?: true;
  readonly idempotencyKey?: string;
}

export function register(program: Command): void {
  const profiles = program
    .command("profiles")
    .description("what sandboxes can be: list, publish and verify profiles");
  const add = (name: string, description: string, isDefault = false) =>
    profiles.command(name, { isDefault }).description(description).option("--json", "print everything");
  add("ls", "list profiles", true).option("-a, --all", "also those that are deprecated").action(ls);
  add("show", "print a profile with everything it extends")
    .argument("<profile>", "as in python@2")
    .action(show);
  add("publish", "publish the next version of a profile")
    .argument("<file>", "YAML or JSON")
    .option("--idempotency-key <key>", "asked again with the same, there is still one")
    .addHelpText("after", "\nExample:\n  $ sandboxer profiles publish python.yaml")
    .action(publish);
  add("deprecate", "no longer mean this version when none is named")
    .argument("<profile>", "as in python@2")
    .action(deprecate);
  add("verify", "make a sandbox of it and run its checks")
    .argument("<profile>", "as in python@2")
    .action(verify);
  add("suggest", "write a profile that fits what a sandbox made with --audit used")
    .argument("<sandbox>", "its id or name")
    .option("--name <name>", "what to call it (default: suggested)")
    .action(suggest);
  add("import-openshell", "write a profile that allows nothing an OpenShell policy does not")
    .argument("<file>", "the policy, YAML")
    .option("--name <name>", "what to call it (default: openshell)")
    .option("--strict", "fail where anything of the policy is not said or enforced")
    .addHelpText("after", "\nExample:\n  $ sandboxer profiles import-openshell policy.yaml > profile.yaml")
    .action(importPolicy);
  profiles
    .command("schema")
    .description("print the JSON Schema of a profile, for editors")
    .option("--json", "as always; give errors as JSON too")
    .action(schema);
}

const nameOf = ({ name, version }: PublishedProfile) => `${name}@${version}`;

async function ls({ json, all }: Options): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const found = await withClient((client) => client.profiles.list());
  const shown = found.filter(({ deprecatedAtMs }) => all || deprecatedAtMs === undefined);
  const rows = shown.map((one) => [
    nameOf(one),
    one.builtIn ? "built in" : one.deprecatedAtMs === undefined ? "published" : "deprecated",
    one.resolved.isolation ?? "process",
    one.resolved.ttlMs === undefined ? "" : span(one.resolved.ttlMs),
    one.offer.candidates.map(({ extensionId }) => extensionId).join(",") || "nowhere",
    one.offer.candidates[0] ? dollars(one.offer.candidates[0].microUsdPerHour) : "",
    one.offer.coldStart ? `${one.offer.coldStart.medianMs.toFixed(0)}ms` : "",
    one.resolved.description ?? "",
  ]);
  const head = ["PROFILE", "STATE", "ISOLATION", "LIVES", "RUNS ON", "AN HOUR", "STARTS IN", "DESCRIPTION"];
  say(json ? JSON.stringify(shown) : table(head, rows));
}

async function show(ref: string, { json }: Options): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const found = await withClient((client) => client.profiles.get(ref));
  if (json) return say(JSON.stringify(found));
  const { stringify } = await import("yaml");
  say(`# ${nameOf(found)} sha256:${found.digest}\n${stringify(found.resolved).trimEnd()}`);
}

async function publish(file: string, { json, idempotencyKey }: Options): Promise<void> {
  const { readProfile } = await import("../profile-file.ts");
  const profile = readProfile(file);
  const { withClient } = await import("../connect.ts");
  const once = idempotencyKey === undefined ? {} : { idempotencyKey };
  const published = await withClient((client) => client.profiles.publish(profile, once));
  say(json ? JSON.stringify(published) : nameOf(published));
}

async function deprecate(ref: string, { json }: Options): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const deprecated = await withClient((client) => client.profiles.deprecate(ref));
  say(json ? JSON.stringify(deprecated) : nameOf(deprecated));
}

async function verify(ref: string, { json }: Options): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const { onLease } = await import("../lease.ts");
  const outcome = await withClient(async (client) => {
    const found = await client.profiles.get(ref);
    const checks = await onLease(client, found, async (sandbox) => {
      const done = [];
      for (const argv of found.resolved.verify ?? []) {
        const exit = await sandbox.run(argv).then(
          (result) => result.exit,
          (error: Error) => error.message,
        );
        const ok = typeof exit === "object" && exit.kind === "exited" && exit.code === 0;
        done.push({ argv, ok, exit });
      }
      return done;
    });
    return { profile: nameOf(found), checks };
  });
  const lines = outcome.checks.map(({ argv, ok, exit }) => {
    const why = typeof exit === "string" ? `: ${printable(exit)}` : "";
    return `${ok ? "ok" : "no"}  ${argv.join(" ")}${why}`;
  });
  const ok = outcome.checks.every((check) => check.ok);
  say(json ? JSON.stringify(outcome) : [`${outcome.profile}:`, ...lines].join("\n"), ok ? 0 : 1);
}

async function suggest(sandbox: string, { name, json }: Options & { name?: string }): Promise<void> {
  const { withClient } = await import("../connect.ts");
  const suggestion = await withClient((client) => client.profiles.suggest(sandbox, name));
  if (json) return say(JSON.stringify(suggestion));
  const { stringify } = await import("yaml");
  const notes = suggestion.notes.map((note) => `# ${printable(note)}\n`).join("");
  say(`${notes}${stringify(suggestion.profile).trimEnd()}`);
}

async function importPolicy(
  file: string,
  { name, strict, json }: Options & { name?: string; strict?: true },
): Promise<void> {
  const { readProfile } = await import("../profile-file.ts");
  const policy = readProfile(file);
  const { withClient } = await import("../connect.ts");
  const imported = await withClient((client) => client.profiles.importOpenShell(policy, name));
  const { stringify } = await import("yaml");
  const notes = imported.findings.map(({ where, what, why }) => `# ${what}: ${where}: ${why}`);
  const head = notes.map((note) => `${printable(note)}\n`).join("");
  const exitCode = strict && notes.length > 0 ? 1 : 0;
  say(json ? JSON.stringify(imported) : `${head}${stringify(imported.profile).trimEnd()}`, exitCode);
}

async function schema(): Promise<void> {
  const { profileJsonSchema } = await import("@sandboxer/contract");
  say(JSON.stringify(profileJsonSchema(), null, 2));
}

function say(text: string, exitCode = 0): void {
  process.stdout.write(`${text}\n`);
  process.exit(exitCode);
}
