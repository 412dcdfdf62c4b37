import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { loadExtensions } from "./third-party.ts";

const MANIFEST = `{
  schema: 1, contract: 0, id: "theirs", title: "theirs", hosting: "self",
  isolation: { class: "process", technology: "none" }, images: ["host"], facets: [], volumes: false,
  persistence: ["ephemeral"], egress: "none", credentials: "none", regions: [], limits: {},
  price: { basis: "provisioned", microUsdPerHour: 0 },
}`;

/** A home that has a package of this text. */
function homeWith(text: string): string {
  const home = mkdtempSync(join(tmpdir(), "sandboxer-third-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const at = join(home, "node_modules/theirs");
  mkdirSync(at, { recursive: true });
  writeFileSync(join(at, "package.json"), '{ "name": "theirs", "type": "module", "main": "index.js" }');
  writeFileSync(join(at, "index.js"), text);
  return home;
}
const load = (text: string, patienceMs?: number) =>
  loadExtensions(homeWith(text), [{ package: "theirs", options: {} }], patienceMs);

it("loads one that keeps to the contract (control)", async () => {
  const [extension] = await load(`export const createExtension = () => ({ manifest: ${MANIFEST} });`);
  expect(extension?.manifest.id).toBe("theirs");
});

it.each([
  ["cannot be read", "export const = 1", /cannot be loaded/],
  ["throws when it is loaded", "throw new Error('no licence')", /cannot be loaded.*no licence/],
  [
    "throws when it is opened",
    "export function createExtension() { throw new Error('no licence') }",
    /no licence/,
  ],
  ["gives nothing", "export function createExtension() {}", /gives no extension/],
  [
    "gives a promise",
    `export async function createExtension() { return { manifest: ${MANIFEST} } }`,
    /promise/,
  ],
  ["has no manifest", "export const createExtension = () => ({})", /no manifest/],
  ["exports another thing by that name", "export const createExtension = 5", /createExtension/],
])("refuses one that %s, by its name", async (_, text, said) => {
  await expect(load(text)).rejects.toMatchObject({
    code: "invalid_request",
    message: expect.stringMatching(/^the extension theirs /),
  });
  await expect(load(text)).rejects.toThrow(said);
});

it("waits for none that never finishes loading", async () => {
  await expect(load("await new Promise(() => setInterval(() => {}, 1e6).unref())", 50)).rejects.toMatchObject(
    {
      code: "invalid_request",
      message: expect.stringContaining("theirs"),
    },
  );
});
