import { existsSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { cliOf } from "../e2e/cli-process.ts";
import { type Door, openDoor } from "./door.ts";

const { describe } = await requires("linux-userns", "boxd");

describe("sandboxer env e2b", () => {
  let door: Door;

  beforeAll(async () => {
    door = await openDoor();
  });
  afterAll(() => door?.close());

  it("prints what leads E2B's clients here", async () => {
    const { stdout, code } = await cliOf(door.home).run(["env", "e2b"]);
    expect(code).toBe(0);
    const expected = Object.entries(door.variables).map(([name, value]) => `export ${name}='${value}'\n`);
    expect(stdout).toBe(expected.join(""));
  });

  it("prints the same by names, with the certificate to trust", async () => {
    const { stdout } = await cliOf(door.home).run(["env", "e2b", "--tls", "--json"]);
    const { E2B_API_KEY, E2B_DOMAIN, NODE_EXTRA_CA_CERTS } = JSON.parse(stdout);
    expect(E2B_API_KEY).toBe(door.gateway.apiKey);
    expect(E2B_DOMAIN).toBe(`preview.localhost:${new URL(door.url).port}`);
    expect(existsSync(NODE_EXTRA_CA_CERTS)).toBe(true);
  });

  it("knows no other product, and needs a gateway", async () => {
    expect(await cliOf(door.home).run(["env", "other"])).toMatchObject({ code: 2 });
    const none = await cliOf(`${door.home}/none`).run(["env", "e2b"]);
    expect(none.code).toBe(69);
    expect(none.stderr).toContain("sandboxer up");
  });
});
