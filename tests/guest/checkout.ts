import { fileURLToPath } from "node:url";

const PARTS = [
  ...["packages/contract", "packages/extensions", "tests/conformance", "tests/capabilities/processes.ts"],
  ...["node_modules/zod", "node_modules/@sandboxer"],
];

/** What the conformance program needs of this checkout, for `inGuest`. */
export function conformanceFiles(boxd: string): Record<string, string> {
  const at = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
  return { boxd, ...Object.fromEntries(PARTS.map((path) => [path, at(path)])) };
}
