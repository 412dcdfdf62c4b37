import { SandboxerError, secretNameSchema, secretWord } from "@sandboxer/contract";
import { z } from "zod";

/** What E2B's rules may do with a request: set headers, which may hold secrets by name. */
export const transformSchema = z.object({
  transform: z.object({ headers: z.record(z.string(), z.string()).nullish() }).nullish(),
});

const SECRET = /\$\{e2b\.secrets\.([^{}]*)\}/g;
const OTHER = /\$\{e2b\.[^{}]*\}/;

/** Several rules in a row: of one header, the last that names it counts. */
export function written(rules: readonly z.output<typeof transformSchema>[]): Record<string, string> {
  const put = new Map<string, [string, string]>();
  for (const { transform } of rules) {
    for (const [name, text] of Object.entries(transform?.headers ?? {})) {
      put.set(name.toLowerCase(), [name, ours(text)]);
    }
  }
  return Object.fromEntries(put.values());
}

function ours(text: string): string {
  const named = text.replaceAll(SECRET, (_, name: string) => {
    if (secretNameSchema.safeParse(name).success) return secretWord(name);
    throw new SandboxerError("invalid_request", `rules: no secret can be named ${name.slice(0, 64)}`);
  });
  if (!OTHER.test(named)) return named;
  throw new SandboxerError("invalid_request", "rules: only ${e2b.secrets.NAME} is known here");
}

/** As E2B's clients wrote them. */
export function rulesShown(
  rules: readonly {
    readonly host: string;
    readonly headers?: Readonly<Record<string, string>> | undefined;
  }[],
): object | undefined {
  const shown = rules.flatMap(({ host, headers }) => {
    if (!headers) return [];
    const theirs = Object.entries(headers).map(([name, text]) => [
      name,
      text.replaceAll("${secrets.", "${e2b.secrets."),
    ]);
    return [[host, [{ transform: { headers: Object.fromEntries(theirs) } }]] as const];
  });
  return shown.length > 0 ? Object.fromEntries(shown) : undefined;
}
