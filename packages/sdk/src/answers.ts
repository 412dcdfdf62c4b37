import {
  type FileEntry,
  type Finding,
  fileEntrySchema,
  type IsolationClass,
  isolationClassSchema,
  type Probe,
} from "@sandboxer/contract";

/** What the client asks of a schema. The contract's are such; these few answers have none there. */
export interface Shape<T> {
  safeParse(value: unknown): { success: true; data: T } | { success: false; error?: unknown };
}

export interface RoutePlan {
  readonly policy: "prefer-self-hosted" | "lowest-cost" | "explicit";
  /** Best first. */
  readonly candidates: readonly {
    readonly extensionId: string;
    readonly hosting: "self" | "vendor";
    readonly isolation: IsolationClass;
    readonly microUsdPerHour: number;
  }[];
  readonly rejected: readonly { readonly extensionId: string; readonly reason: string }[];
}

type Members = Readonly<Record<string, unknown>>;

export const written = shape<{ bytes: number }>(({ bytes }) => Number.isSafeInteger(bytes));
export const made = shape<{ created: boolean }>(({ created }) => typeof created === "boolean");
export const listing = shape<{ entries: FileEntry[] }>(({ entries }) =>
  every(entries, (entry) => fileEntrySchema.safeParse(entry).success),
);
export const diagnosis = shape<{ extensions: Record<string, Probe> }>(
  ({ extensions }) => isMembers(extensions) && every(Object.values(extensions), isProbe),
);
export const routePlan = shape<RoutePlan>(
  ({ candidates, rejected }) => every(candidates, isCandidate) && every(rejected, isRejection),
);

const isFinding = (value: Members) =>
  areTexts(value, "id", "message") && typeof value.ok === "boolean" && isTextOrAbsent(value.fix);

const isProbe = (value: Members) =>
  every(value.findings as Finding[], isFinding) &&
  (value.status === "offer" || (value.status === "unavailable" && areTexts(value, "reason", "fix")));

const isCandidate = (value: Members) =>
  areTexts(value, "extensionId", "hosting") &&
  isolationClassSchema.safeParse(value.isolation).success &&
  Number.isSafeInteger(value.microUsdPerHour);

const isRejection = (value: Members) => areTexts(value, "extensionId", "reason");

function shape<T>(holds: (value: Members) => boolean): Shape<T> {
  return {
    safeParse: (value) =>
      isMembers(value) && holds(value) ? { success: true, data: value as T } : { success: false },
  };
}

function every(value: unknown, holds: (item: Members) => boolean): boolean {
  return Array.isArray(value) && value.every((item) => isMembers(item) && holds(item));
}

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null;
}

function areTexts(value: Members, ...names: string[]): boolean {
  return names.every((name) => typeof value[name] === "string");
}

function isTextOrAbsent(value: unknown): boolean {
  return value === undefined || typeof value === "string";
}
