import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "../conformance/remove-engine.ts";
import { cliOf } from "./cli-process.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 180_000 });

const VALUE = "sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyz";

describe("sandboxer secrets", () => {
  const home = mkdtempSync(join(tmpdir(), "sandboxer-cli-secrets-"));
  const { run } = cliOf(home);
  afterAll(() => removeEngine(join(home, "engine"), home));

  it("takes a secret from standard input, shows everything about it but what it is, and forgets it", async () => {
    const place = "api.example.com/v1/** header:x-api-key";
    expect(await run(["secrets", "set", "MODEL_KEY", "--to", place], `${VALUE}\n`)).toEqual({
      code: 0,
      stdout: "MODEL_KEY\n",
      stderr: "",
    });
    const listed = await run(["secrets", "ls"]);
    expect(listed.stdout).toMatch(/MODEL_KEY +kept here +api\.example\.com\/v1\/\*\* header:x-api-key/);
    const json = await run(["secrets", "ls", "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject([
      {
        name: "MODEL_KEY",
        version: 1,
        bindings: [{ host: "api.example.com", paths: ["/v1/**"], ports: [443] }],
      },
    ]);
    expect((await run(["secrets", "rotate", "MODEL_KEY"], `${VALUE}0`)).code).toBe(0);
    const key = JSON.parse((await run(["keys", "create", "--json"])).stdout).key.id;
    expect((await run(["secrets", "grant", "MODEL_KEY", key])).code).toBe(0);
    const granted = await run(["secrets", "ls"]);
    expect(granted.stdout).toContain(key);
    expect((await run(["secrets", "revoke", "MODEL_KEY", key])).code).toBe(0);
    const seen = await run([
      "run",
      "--allow",
      "api.example.com",
      "--secrets",
      "MODEL_KEY",
      "--",
      "printenv",
      "MODEL_KEY",
    ]);
    expect(seen.stdout).toMatch(/^sk-ant-api03-\w{36}\n$/);
    for (const { stdout, stderr } of [listed, json, granted, seen])
      expect(stdout + stderr).not.toContain(VALUE);
    expect((await run(["secrets", "rm", "MODEL_KEY"])).stdout).toBe("MODEL_KEY\n");
    expect((await run(["secrets", "ls", "--json"])).stdout).toBe("[]\n");
  });

  it("says what is wrong with what it was told", async () => {
    const nowhere = await run(["secrets", "set", "MODEL_KEY"], VALUE);
    expect([nowhere.code, nowhere.stderr]).toEqual([2, expect.stringContaining("--to")]);
    const odd = await run(["secrets", "set", "MODEL_KEY", "--to", "api.example.com"], VALUE);
    expect([odd.code, odd.stderr]).toEqual([2, expect.stringContaining("header:x-api-key")]);
    const short = await run(["secrets", "set", "MODEL_KEY", "--to", "api.example.com header:a"], "short");
    expect([short.code, short.stderr]).toEqual([2, expect.stringContaining("value")]);
    expect(short.stderr).not.toContain("short\n");
    const none = await run(["secrets", "rm", "NOSUCH"]);
    expect(none.stderr).toContain("no secret NOSUCH\nhint: `sandboxer secrets` shows what there is.");
  });
});
