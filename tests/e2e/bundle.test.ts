import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const BIN = fileURLToPath(new URL("../../apps/cli/bin", import.meta.url));
const SOURCES = ["apps/cli/src/main.ts", "packages/core/src/index.ts"];

describe("the bundle of the command line", () => {
  let root: string;
  const at = (path: string) => join(root, path);
  const say = (text: string) => `main = () => process.stdout.write("${text}");`;
  const start = (...args: string[]) =>
    execFileSync(process.execPath, [at("apps/cli/bin/sandboxer.cjs"), ...args], {
      encoding: "utf8",
      env: { ...process.env, XDG_CACHE_HOME: root },
    });
  const bundle = (name = "one") => {
    const inputs = SOURCES.map((path) => [path, statSync(at(path)).size, statSync(at(path)).mtimeMs]);
    writeFileSync(at("apps/cli/dist/inputs.json"), JSON.stringify({ bundle: name, inputs }));
  };
  /** What is kept of compiled code, below what the bundle is known by. */
  const kept = () => {
    const all = readdirSync(at("sandboxer/commands"), { recursive: true, encoding: "utf8" });
    return all.filter((name) => name.endsWith(".cjs")).map((name) => name.replace(/^.*@/, ""));
  };

  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), "sandboxer-bundle-"));
    for (const folder of ["apps/cli/bin", "apps/cli/src", "apps/cli/dist", "packages/core/src"]) {
      mkdirSync(at(folder), { recursive: true });
    }
    writeFileSync(at("package.json"), '{"type":"module"}');
    for (const name of ["sandboxer.cjs", "compiled.cjs"])
      copyFileSync(join(BIN, name), at(`apps/cli/bin/${name}`));
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

  it("is compiled once for a command that went well, and never for another bundle", () => {
    const part = (text: string) => `exports.text = () => "${text}";`;
    const main = 'exports.main = (args) => process.stdout.write(require("./part.cjs").text() + args);';
    writeFileSync(at("apps/cli/dist/main.cjs"), main);
    writeFileSync(at("apps/cli/dist/part.cjs"), part("one"));
    bundle("one");
    expect(start("run")).toBe("onerun");
    expect(kept()).toEqual(["one/run/main.cjs", "one/run/part.cjs"]);
    expect(start("run", "-x")).toBe("onerun,-x");
    // As long as before, which is all that V8 looks at: by the same name it would be taken for the same.
    writeFileSync(at("apps/cli/dist/part.cjs"), part("two"));
    expect(start("run")).toBe("onerun");
    bundle("two");
    expect(start("run")).toBe("tworun");
    expect(kept()).toEqual(["two/run/main.cjs", "two/run/part.cjs"]);
  });

  it("leaves nothing compiled of what failed, only helped or is no command, and makes anew what is cut off", () => {
    const main = 'exports.main = ([first]) => { process.exitCode = first === "fails" ? 3 : 0; };';
    writeFileSync(at("apps/cli/dist/main.cjs"), main);
    bundle("three");
    expect(() => start("fails")).toThrow();
    for (const odd of [["../../escaped"], ["-v"], ["up"], ["run", "--help"]]) start(...odd);
    expect(kept()).toEqual(["two/run/main.cjs", "two/run/part.cjs"]);
    start("run");
    expect(kept()).toEqual(["three/run/main.cjs"]);
    const [folder = ""] = readdirSync(at("sandboxer/commands"));
    const file = at(`sandboxer/commands/${folder}/run/main.cjs`);
    const whole = readFileSync(file);
    for (const broken of [Buffer.alloc(0), Buffer.from("not V8's"), whole.subarray(0, whole.length / 2)]) {
      writeFileSync(file, broken);
      expect(start("run")).toBe("");
      // What could not be used was made anew.
      expect(readFileSync(file).length).toBe(whole.length);
    }
    // What others could have written is not even looked at.
    chmodSync(file, 0o666);
    start("run");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    rmSync(at("apps/cli/dist/part.cjs"));
    writeFileSync(at("apps/cli/dist/main.cjs"), `exports.${say("bundle")}`);
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
