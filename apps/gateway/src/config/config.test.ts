import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { loadConfig } from "./load.ts";
import { configSchema } from "./schema.ts";
import { unsaid } from "./unsaid.ts";

const home = mkdtempSync(join(tmpdir(), "sandboxer-config-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const load = (text: string, environment: NodeJS.ProcessEnv = {}, flags = {}) => {
  writeFileSync(join(home, "config.yaml"), text);
  return loadConfig({ home, environment, flags });
};

describe("the configuration", () => {
  it("is safe where nothing is said", async () => {
    expect(await load("")).toMatchObject({
      listen: { host: "127.0.0.1", port: 7070 },
      insecure: false,
      allowed: { hosts: [], origins: [] },
      extensions: [],
    });
  });

  it("is what the schema fills in where nothing is said", () => {
    expect(unsaid()).toStrictEqual(configSchema.parse({}));
  });

  it("takes flags before the environment, and that before the file", async () => {
    const file =
      "listen: { port: 1, host: ::1 }\nprices: { local: { microUsdPerHour: 5, pausedMicroUsdPerHour: 1 } }\nallowed: { hosts: [A.test] }";
    const environment = {
      SANDBOXER_PORT: "2",
      SANDBOXER_PRICE_LOCAL_MICRO_USD_PER_HOUR: "7",
      SANDBOXER_ALLOWED_ORIGINS: "https://a.test, https://b.test",
      SANDBOXER_POOL: "",
    };
    expect(await load(file, environment, { listen: { port: 3 } })).toMatchObject({
      listen: { host: "::1", port: 3 },
      prices: { local: { microUsdPerHour: 7, pausedMicroUsdPerHour: 1 } },
      allowed: { hosts: ["a.test"], origins: ["https://a.test", "https://b.test"] },
    });
    expect((await load(file, environment)).listen.port).toBe(2);
  });

  it.each([
    ["an unknown word", "lissten: { port: 1 }", {}, "lissten"],
    ["an unknown word inside", "limits: { concurent: 1 }", {}, "concurent"],
    ["a wrong type", "listen: { port: many }", {}, "listen.port"],
    ["a list", "- a", {}, "mapping"],
    ["no YAML", "a: [", {}, "cannot read"],
    ["a variable", "", { SANDBOXER_PORT: "abc" }, "SANDBOXER_PORT"],
    ["a flag that is none", "", { SANDBOXER_INSECURE: "perhaps" }, "SANDBOXER_INSECURE"],
    ["a price", "", { SANDBOXER_PRICE_LOCAL_MICRO_USD_PER_HOUR: "1.5" }, "micro-dollars"],
    ["half of TLS", "tls: { cert: a.pem }", {}, "tls.key"],
  ])("refuses %s, and names it", async (_, file, environment, named) => {
    const error = await load(file, environment).catch((thrown) => thrown);
    expect(error.code).toBe("invalid_request");
    expect(error.message).toContain(named);
  });

  it("must be there where it is named", async () => {
    const named = loadConfig({ home, file: join(home, "nothing.yaml"), environment: {} });
    await expect(named).rejects.toMatchObject({ code: "invalid_request" });
  });
});
