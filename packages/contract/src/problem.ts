/** What a schema found wrong, as the library reports it. */
export interface Issue {
  readonly code?: string | undefined;
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly expected?: unknown;
  readonly origin?: unknown;
  readonly minimum?: unknown;
  readonly maximum?: unknown;
  readonly inclusive?: unknown;
  readonly keys?: readonly string[];
  readonly values?: readonly unknown[];
  readonly format?: unknown;
  readonly discriminator?: unknown;
}

/** How the library begins whatever it says by itself. What a schema of ours says begins otherwise. */
const ITS_OWN = /^(?:Invalid|Unrecognized|Too )/;

const NOUNS: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

const COUNTED: Readonly<Record<string, string>> = { string: " characters", array: " entries" };

/** The same as a sentence for people, the field first: `resources.cpus: must be at most 4096`. */
export function problemOf(issue: Issue): string {
  const where = issue.path.map(String).join(".");
  const said = ITS_OWN.test(issue.message) ? sentenceOf(issue) : issue.message;
  // Schemas that name their field themselves do it for those who see no path.
  const last = `${String(issue.path.at(-1))}: `;
  const text = said.startsWith(last) ? said.slice(last.length) : said;
  return where === "" ? text : `${where}: ${text}`;
}

function sentenceOf({ code, message, keys = [], values = [], ...issue }: Issue): string {
  switch (code) {
    case "invalid_type":
      if (message.endsWith("received undefined")) return "is missing";
      return `must be ${NOUNS[String(issue.expected)] ?? String(issue.expected)}`;
    case "unrecognized_keys":
      return `${keys.map((key) => JSON.stringify(key)).join(", ")} ${keys.length > 1 ? "are" : "is"} not known here`;
    case "too_small":
      return bound(issue.inclusive === false ? "more than" : "at least", issue.minimum, issue.origin);
    case "too_big":
      return bound(issue.inclusive === false ? "less than" : "at most", issue.maximum, issue.origin);
    case "invalid_value":
      return `must be ${values.length > 1 ? "one of " : ""}${values.map(String).join(", ")}`;
    case "invalid_union":
      return issue.discriminator === undefined
        ? "is in none of the forms that are taken"
        : `${String(issue.discriminator)} is none of those that are known`;
    case "invalid_format":
      return issue.format === "regex" ? "is not written as it should be" : `is not a valid ${issue.format}`;
    case "invalid_key":
      return "has a name that is not allowed";
    default:
      return "is not valid";
  }
}

function bound(how: string, limit: unknown, origin: unknown): string {
  const counted = COUNTED[String(origin)];
  return counted ? `must have ${how} ${limit}${counted}` : `must be ${how} ${limit}`;
}
