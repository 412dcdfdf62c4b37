import { readFileSync } from "node:fs";
import { SandboxerError } from "@sandboxer/contract";
import { parseDocument } from "yaml";

/** JSON is YAML too. Neither tags nor endless aliases: the file may be somebody else's. */
export function readProfile(file: string): object {
  const text = read(file);
  const document = parseDocument(text, { schema: "core", uniqueKeys: true });
  const [problem] = document.errors;
  if (problem) throw new SandboxerError("invalid_request", `${file}: ${problem.message}`);
  const value: unknown = document.toJS({ maxAliasCount: 20 });
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new SandboxerError("invalid_request", `${file} holds no profile`, {
    hint: "Begin with `schema: 1` and `name: …`; `sandboxer profiles schema` describes the rest.",
  });
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new SandboxerError("path_not_found", `cannot read ${file}`, {
      hint: "Check the path; it is one of this machine's.",
      cause,
    });
  }
}
