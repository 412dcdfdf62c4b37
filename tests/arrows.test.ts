import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkArrows } from "../scripts/arrows.ts";
import { vendorNames } from "../scripts/vendor-names.ts";

/** A small house in which every allowed arrow is used once. */
const HOUSE: Record<string, string> = {
  "packages/contract/src/index.ts": 'import "zod"; export const contract = 1;',
  "packages/contract/src/conformance/index.ts": 'import "vitest"; import "../index.ts";',
  "packages/core/src/index.ts":
    'import "node:crypto"; import "@sandboxer/contract"; // docker is named in passing',
  "packages/core/src/index.test.ts":
    'import "vitest"; import "./index.ts"; import "../../../tests/capabilities/requires.ts";',
  "packages/extensions/src/_kit/kit.ts": 'import "@sandboxer/contract";',
  "packages/extensions/src/one/index.ts": 'import "../_kit/kit.ts"; import "vendor-sdk"; import "node:net";',
  "packages/extensions/src/two/index.ts": 'import "@sandboxer/contract";',
  "packages/sdk/src/index.ts": 'import "@sandboxer/contract";',
  "apps/gateway/src/index.ts":
    'import "@sandboxer/core"; import "../../../packages/extensions/src/one/index.ts"; import "node:http";',
  "apps/cli/src/index.ts": 'import "@sandboxer/sdk"; import "node:os"; await import("@sandboxer/gateway");',
  "tests/capabilities/requires.ts": "export {};",
  "tests/e2e.test.ts": 'import "@sandboxer/gateway"; import "@sandboxer/sdk";',
};
const ROOMS = {
  contract: "packages",
  core: "packages",
  extensions: "packages",
  sdk: "packages",
  gateway: "apps",
};
const PACKAGES = ["zod", "vitest", "vendor-sdk"];

/** One forbidden import each, and the rule that must refuse it. */
const BAD: readonly (readonly [rule: string, file: string, imports: string])[] = [
  ["contract-rooms", "packages/contract/src/bad.ts", 'import "@sandboxer/core";'],
  ["contract-packages", "packages/contract/src/bad.ts", 'import "vendor-sdk";'],
  ["contract-packages", "packages/contract/src/bad.ts", 'import "vitest";'],
  ["contract-without-node", "packages/contract/src/bad.ts", 'import "node:fs";'],
  ["conformance-packages", "packages/contract/src/conformance/bad.ts", 'import "vendor-sdk";'],
  ["core-rooms", "packages/core/src/bad.ts", 'import "../../extensions/src/one/index.ts";'],
  ["core-rooms", "packages/core/src/bad.ts", 'import type {} from "@sandboxer/gateway";'],
  ["core-packages", "packages/core/src/bad.ts", 'import "vendor-sdk";'],
  ["extensions-rooms", "packages/extensions/src/one/bad.ts", 'import "@sandboxer/core";'],
  ["extensions-rooms", "packages/extensions/src/_kit/bad.ts", 'await import("@sandboxer/gateway");'],
  ["extensions-apart", "packages/extensions/src/one/bad.ts", 'import "../two/index.ts";'],
  ["extensions-apart", "packages/extensions/src/_kit/bad.ts", 'import "../two/index.ts";'],
  ["egress-rooms", "packages/egress/src/bad.ts", 'import "../../extensions/src/one/index.ts";'],
  ["sdk-rooms", "packages/sdk/src/bad.ts", 'import "@sandboxer/core";'],
  ["sdk-without-node", "packages/sdk/src/bad.ts", 'import "node:fs";'],
  ["sdk-packages", "packages/sdk/src/bad.ts", 'import "vendor-sdk";'],
  ["gateway-rooms", "apps/gateway/src/bad.ts", 'import "../../cli/src/index.ts";'],
  ["gateway-rooms", "apps/gateway/src/bad.ts", 'import "@sandboxer/sdk";'],
  ["cli-rooms", "apps/cli/src/bad.ts", 'import "@sandboxer/core";'],
  ["cli-rooms", "apps/cli/src/bad.ts", 'import "../../../packages/extensions/src/one/index.ts";'],
  ["cli-opens-the-gateway-lazily", "apps/cli/src/bad.ts", 'import "@sandboxer/gateway";'],
  ["console-rooms", "apps/console/src/bad.ts", 'import "@sandboxer/gateway";'],
  ["console-without-node", "apps/console/src/bad.ts", 'import "node:fs";'],
  [
    "nobody-imports-the-workbench",
    "packages/core/src/bad.ts",
    'import "../../../tests/capabilities/requires.ts";',
  ],
  [
    "unit-tests-borrow-capabilities-only",
    "packages/core/src/bad.test.ts",
    'import "../../../tests/e2e.test.ts";',
  ],
  ["no-cycles", "packages/core/src/bad.ts", 'import "./bad-too.ts";'],
  ["resolvable", "packages/core/src/bad.ts", 'import "./not-there.ts";'],
];

describe("arrows", () => {
  const root = mkdtempSync(join(tmpdir(), "arrows-"));
  const write = (file: string, content: string): void => {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), content);
  };

  beforeAll(() => {
    for (const [file, content] of Object.entries(HOUSE)) write(file, content);
    for (const [room, place] of Object.entries(ROOMS)) {
      const manifest = { name: `@sandboxer/${room}`, type: "module", exports: { ".": "./src/index.ts" } };
      write(`${place}/${room}/package.json`, JSON.stringify(manifest));
      mkdirSync(join(root, "node_modules/@sandboxer"), { recursive: true });
      symlinkSync(join(root, place, room), join(root, "node_modules/@sandboxer", room));
    }
    for (const name of PACKAGES) {
      write(
        `node_modules/${name}/package.json`,
        JSON.stringify({ name, type: "module", exports: "./index.js" }),
      );
      write(`node_modules/${name}/index.js`, "export {};");
    }
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  it("allows every arrow of the house, and sees every file", async () => {
    expect(await checkArrows(root)).toEqual({ modules: Object.keys(HOUSE).length, violations: [] });
  });

  it.for(BAD)("%s refuses %s: %s", async ([rule, file, imports]) => {
    const planted: Record<string, string> = { [file]: imports };
    if (rule === "no-cycles") planted["packages/core/src/bad-too.ts"] = 'import "./bad.ts";';
    for (const [name, content] of Object.entries(planted)) write(name, content);
    const { violations } = await checkArrows(root);
    for (const name of Object.keys(planted)) rmSync(join(root, name));
    expect(violations.filter((line) => line.startsWith(`${rule}: `))).not.toEqual([]);
    expect(violations.filter((line) => !line.startsWith(`${rule}: `))).toEqual([]);
  });

  it("finds a vendor's name in core's code, and lets a comment explain", () => {
    expect(vendorNames(root)).toEqual([]);
    write("packages/core/src/bad.ts", "const dockerHost = `x${1}E2B`;");
    const found = vendorNames(root);
    rmSync(join(root, "packages/core/src/bad.ts"));
    expect(found).toEqual([
      'vendor-in-core: packages/core/src/bad.ts:1 says "dockerHost"',
      'vendor-in-core: packages/core/src/bad.ts:1 says "E2B"',
    ]);
  });
});
