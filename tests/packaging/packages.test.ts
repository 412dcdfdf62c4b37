import { cp, mkdtemp, readFile, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openGateway } from "@sandboxer/gateway";
import { build } from "rolldown";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { packAll, workspaces } from "../../scripts/pack.ts";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "../conformance/remove-engine.ts";
import { installIn, packInstalled, root, run } from "./installed.ts";

const { describe, given } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

let dir: string;
let ours: ReadonlyMap<string, string>;
let zod: string;
const tarball = (name: string) => ours.get(name) ?? "";

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "sbx-"));
  ours = await packAll(join(dir, "packed"));
  zod = await packInstalled("zod", join(dir, "packed"));
});
afterAll(() => removeEngine(join(dir, "3p/engine"), dir));

describe("the SDK, installed alone", () => {
  let at: string;
  beforeAll(async () => {
    at = join(dir, "sdk");
    await installIn(at, [tarball("@sandboxer/sdk"), tarball("@sandboxer/contract"), zod]);
  });

  it("runs a command from plain JavaScript", async () => {
    const home = join(dir, "home");
    const gateway = await openGateway({ home, listen: { host: "127.0.0.1", port: 0 }, log: () => {} });
    try {
      const program = `
        import { createClient } from "@sandboxer/sdk";
        import { SandboxerError } from "@sandboxer/contract/errors";
        const client = createClient({ url: ${JSON.stringify(gateway.url)}, apiKey: ${JSON.stringify(gateway.apiKey)} });
        const sandbox = await client.sandboxes.create({ ttlMs: 60000 });
        const process = await sandbox.exec({ argv: ["echo", "hello"] }, { over: "websocket" });
        for await (const event of process.events) if (event.data) console.log(new TextDecoder().decode(event.data).trim());
        const error = await client.sandboxes.get("nosuch").catch((thrown) => thrown);
        console.log(SandboxerError.is(error), error.code, typeof error.requestId);
        await sandbox.destroy();`;
      await writeFile(join(at, "program.js"), program);
      const { stdout } = await run(process.execPath, ["program.js"], { cwd: at, timeout: 120_000 });
      expect(stdout).toBe("hello\ntrue not_found string\n");
    } finally {
      await gateway.close();
      await removeEngine(join(home, "engine"), home);
    }
  });

  it("has types that a strict compiler accepts", async () => {
    const program = `import { createClient, type Sandbox } from "@sandboxer/sdk";
      import { ERRORS, type SandboxerError } from "@sandboxer/contract/errors";
      export async function work(sandbox: Sandbox): Promise<number> {
        const { stdout } = await sandbox.run(["true"]);
        // @ts-expect-error a number is no command
        await sandbox.run(5);
        return stdout.length + ERRORS.not_found.status;
      }
      export const client = createClient({ url: "http://localhost", apiKey: "" });
      export type Thrown = SandboxerError;`;
    await writeFile(join(at, "typed.ts"), program);
    const compilerOptions = {
      strict: true,
      noEmit: true,
      module: "nodenext",
      target: "es2024",
      lib: ["es2024", "dom", "dom.asynciterable"],
      types: [],
    };
    await writeFile(join(at, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["typed.ts"] }));
    const { stdout } = await run(join(root, "node_modules/.bin/tsc"), [], { cwd: at }).catch(
      (error) => error,
    );
    expect(stdout).toBe("");
  });

  it("is of browsers too: nothing of Node's is in it", async () => {
    const input = join(at, "browser.js");
    await writeFile(input, 'export * from "@sandboxer/sdk";');
    const { output } = await build({ input, platform: "browser", write: false, logLevel: "silent" });
    const code = output.map((chunk) => ("code" in chunk ? chunk.code : "")).join("");
    expect(output.flatMap((chunk) => ("imports" in chunk ? chunk.imports : []))).toEqual([]);
    expect(code.length).toBeGreaterThan(10_000);
    expect(code).not.toMatch(/["']node:|\brequire\(/);
    const control = join(at, "control.js");
    await writeFile(control, 'import "node:fs"; export * from "@sandboxer/sdk";');
    const seen = await build({ input: control, platform: "browser", write: false, logLevel: "silent" });
    expect(JSON.stringify(seen.output.map((one) => ("imports" in one ? one.imports : [])))).toContain("fs");
  });

  it("gives errors without the schemas", async () => {
    const input = join(at, "errors.js");
    await writeFile(input, 'export { ERRORS } from "@sandboxer/contract/errors";');
    const { output } = await build({ input, platform: "browser", write: false, logLevel: "silent" });
    expect(output.map((chunk) => ("code" in chunk ? chunk.code : "")).join("")).not.toContain("zod");
  });
});

it("the command line works from its package", async () => {
  const at = join(dir, "cli");
  const needed = [...(await workspaces()).values()].flatMap(({ dependencies = {} }) =>
    Object.keys(dependencies),
  );
  const foreign = new Set(needed.filter((name) => !ours.has(name) && name !== "zod"));
  const others = await Promise.all([...foreign].map((name) => packInstalled(name, join(dir, "packed"))));
  await installIn(at, [...ours.values(), zod, ...others]);
  const home = join(dir, "cli-home");
  const env = { ...process.env, SANDBOXER_HOME: home, SANDBOXER_BOXD: given.boxd.path };
  const sandboxer = (...args: string[]) =>
    run(process.execPath, [join(at, "node_modules/sandboxer/bin/sandboxer.cjs"), ...args], {
      env,
      timeout: 120_000,
    });
  expect((await sandboxer("--version")).stdout).toBe("0.0.0\n");
  expect(await sandboxer("run", "--", "echo", "hi")).toEqual({ stdout: "hi\n", stderr: "" });
  await removeEngine(join(home, "engine"), home);
});

describe("an extension of others", () => {
  let home: string;
  const sample = () => join(home, "node_modules", "sandboxer-sample-extension");
  const open = (extensions: string) =>
    writeFile(join(home, "config.yaml"), `extensions: ${extensions}`).then(() =>
      openGateway({ home, listen: false, log: () => {} }),
    );

  beforeAll(async () => {
    vi.stubEnv("SANDBOXER_BOXD", given.boxd.path);
    home = join(dir, "3p");
    await installIn(home, [tarball("@sandboxer/contract"), tarball("@sandboxer/extensions"), zod]);
    await cp(join(root, "tests/packaging/sample-extension"), sample(), { recursive: true });
  });
  afterAll(() => vi.unstubAllEnvs());

  it("is loaded by the name in the configuration, and runs sandboxes", async () => {
    const gateway = await open("[{ package: sandboxer-sample-extension }]");
    try {
      const root = await gateway.core.authenticate(gateway.apiKey);
      const sandbox = await gateway.core.create(root, { extensions: ["sample"], ttlMs: 60_000 });
      expect(sandbox.location?.extensionId).toBe("sample");
      await gateway.core.destroy(root, sandbox.id);
    } finally {
      await gateway.close();
    }
  });

  it.each([
    [
      "is made for another contract",
      "[{ package: sandboxer-sample-extension, options: { contract: 99 } }]",
      "contract 99",
    ],
    ["has a wrong manifest", "[{ package: sandboxer-sample-extension, options: { id: 'NO' } }]", "manifest"],
    ["is not there", "[{ package: sandboxer-nosuch }]", "cannot be loaded"],
    ["is no extension", "[{ package: zod }]", "createExtension"],
    [
      "has a built-in's name",
      "[{ package: sandboxer-sample-extension, options: { id: local } }]",
      "two extensions",
    ],
  ])("is refused when it %s", async (_, extensions, said) => {
    await expect(open(extensions)).rejects.toMatchObject({
      code: "invalid_request",
      message: expect.stringContaining(said),
    });
  });

  it("passes the published suite, run by its author", async () => {
    // Ours, because a test runner cannot be installed without a registry.
    await symlink(join(root, "node_modules/vitest"), join(home, "node_modules/vitest"));
    await cp(join(sample(), "conformance.test.js"), join(home, "conformance.test.js"));
    const vitest = join(root, "node_modules/vitest/vitest.mjs");
    const args = [
      vitest,
      "run",
      "--root",
      home,
      "--reporter",
      "json",
      "--outputFile",
      join(home, "report.json"),
      // The runner's own are short, and meant for units.
      ...["--testTimeout", "120000", "--hookTimeout", "120000"],
    ];
    await run(process.execPath, args, { cwd: home, timeout: 290_000 }).catch(() => {});
    const report = JSON.parse(await readFile(join(home, "report.json"), "utf8"));
    const failed = report.testResults.flatMap(
      (file: { assertionResults: { status: string; fullName: string }[] }) =>
        file.assertionResults.filter(({ status }) => status === "failed").map(({ fullName }) => fullName),
    );
    expect(failed).toEqual([]);
    expect(report.numPassedTests).toBeGreaterThan(40);
  });
});
