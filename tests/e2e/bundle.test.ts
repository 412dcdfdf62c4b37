import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const BIN = fileURLToPath(new URL("../../apps/cli/bin/sandboxer.cjs", import.meta.url));
const SOURCES = ["apps/cli/src/main.ts", "packages/core/src/index.ts"];

describe("the bundle of the command line", () => {
  let root: string;
  const at = (path: string) => join(root, path);
  const say = (text: string) => `main = () => process.stdout.write("${text}");`;
  const start = () =>
    execFileSync(process.execPath, [at("apps/cli/bin/sandboxer.cjs")], {
      encoding: "utf8",
      env: { ...process.env, XDG_CACHE_HOME: root },
    });
  const bundle = () => {
    const inputs = SOURCES.map((path) => [path, statSync(at(path)).size, statSync(at(path)).mtimeMs]);
    writeFileSync(at("apps/cli/dist/inputs.json"), JSON.stringify(inputs));
  };

  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), "sandboxer-bundle-"));
    for (const folder of ["apps/cli/bin", "apps/cli/src", "apps/cli/dist", "packages/core/src"]) {
      mkdirSync(at(folder), { recursive: true });
    }
    writeFileSync(at("package.json"), '{"type":"module"}');
    copyFileSync(BIN, at("apps/cli/bin/sandboxer.cjs"));
    writeFileSync(at("apps/cli/src/main.ts"), `export const ${say("sources")}`);
    writeFileSync(at("packages/core/src/index.ts"), "");
    writeFileSync(at("apps/cli/dist/main.cjs"), `exports.${say("bundle")}`);
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  it("is used while the files it was made of are the same", () => {
    expect(start()).toBe("sources");
    bundle();
    expect(start()).toBe("bundle");
  });

  it("is left alone once any of them has changed, been touched or gone", () => {
    bundle();
    writeFileSync(at("packages/core/src/index.ts"), "export {};");
    expect(start()).toBe("sources");
    bundle();
    utimesSync(at("packages/core/src/index.ts"), new Date(), new Date(Date.now() - 60_000));
    expect(start()).toBe("sources");
    bundle();
    rmSync(at("packages/core/src/index.ts"));
    expect(start()).toBe("sources");
  });

  it("is not looked for where the package is published: compiled, without sources", () => {
    rmSync(at("apps/cli/src/main.ts"));
    writeFileSync(at("apps/cli/dist/main.js"), `export const ${say("published")}`);
    expect(start()).toBe("published");
  });
});
