import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { SandboxerError } from "@sandboxer/contract";
import { fromEnvironment, variableOf } from "./environment.ts";
import { type Config, type ConfigInput, configSchema } from "./schema.ts";
import { unsaid } from "./unsaid.ts";

interface Sources {
  readonly home: string;
  /** Named, it must be there; left out, SANDBOXER_CONFIG or `<home>/config.yaml`. */
  readonly file?: string | undefined;
  readonly environment?: NodeJS.ProcessEnv;
  readonly flags?: ConfigInput;
}

type Members = Record<string, unknown>;

/** Flags go before the environment, and that before the file. */
export async function loadConfig({
  home,
  file,
  environment = process.env,
  flags = {},
}: Sources): Promise<Config> {
  const named = file ?? environment.SANDBOXER_CONFIG;
  const path = named ?? join(home, "config.yaml");
  const written = named || existsSync(path) ? await readFile(path) : {};
  const said = merge(merge(written, fromEnvironment(environment)), flags as Members);
  if (Object.keys(said).length === 0) return unsaid();
  const parsed = configSchema.safeParse(said);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.slice(0, 5).map(({ path: at, message }) => {
    const where = at.join(".");
    const variable = variableOf(where);
    return `${where || "it"}: ${message}${variable && environment[variable] ? ` (from ${variable})` : ""}`;
  });
  throw new SandboxerError("invalid_request", `the configuration is not valid: ${problems.join("; ")}`, {
    hint: `Correct ${existsSync(path) ? path : "the variables named"}; docs/configuration.md has every word.`,
  });
}

async function readFile(path: string): Promise<Members> {
  const { parse } = await import("yaml");
  try {
    const read = parse(readFileSync(path, "utf8")) ?? {};
    if (typeof read === "object" && !Array.isArray(read)) return read as Members;
    throw new Error("it is not a mapping");
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.split("\n")[0] : String(cause);
    throw new SandboxerError("invalid_request", `cannot read the configuration ${path}: ${reason}`, {
      cause,
    });
  }
}

/** Members of `over` win; what neither is a list nor a value is merged inside. */
function merge(under: Members, over: Members): Members {
  const merged = { ...under };
  for (const [name, value] of Object.entries(over)) {
    if (value === undefined) continue;
    const before = merged[name];
    merged[name] = isMembers(before) && isMembers(value) ? merge(before, value) : value;
  }
  return merged;
}

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
