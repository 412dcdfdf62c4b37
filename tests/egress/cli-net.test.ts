import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { cliOf } from "../e2e/cli-process.ts";
import { PRIVATE, WORLD } from "./lab/lab.ts";
import { type Bench, curl, openBench, text } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

vi.setConfig({ testTimeout: 180_000 });
const PATIENCE = { timeout: 60_000, interval: 200 };

describe("`sandboxer net`", () => {
  let bench: Bench;
  let sandbox: Sandbox;
  let cli: ReturnType<typeof cliOf>;
  let home: string;
  beforeAll(async () => {
    bench = await openBench({}, { listen: { host: "127.0.0.1", port: 0 } });
    for (const name of ["api.allowed.test", "web.allowed.test", "learned.test"])
      await bench.lab.name(name, [WORLD]);
    await bench.lab.name("lan.test", [PRIVATE]);
    await bench.lab.name("self.test", ["127.0.0.1"]);
    sandbox = await bench.sandbox({}, { name: "box" });
    home = await mkdtemp(join(tmpdir(), "sandboxer-cli-net-"));
    const { url = "", apiKey } = bench.gateway;
    cli = cliOf(home, { SANDBOXER_URL: url, SANDBOXER_API_KEY: apiKey });
  });
  afterAll(async () => {
    await bench.close();
    await rm(home, { recursive: true, force: true });
  });

  const say = async (...args: string[]) => text((await curl(sandbox, ...args)).stdout);
  const net = async (...args: string[]) => (await cli.run(["net", "box", ...args])).stdout;
  /** The lines that it offers, as they are typed after its name. */
  const offered = (told: string) =>
    [...told.matchAll(/^ {2}sandboxer net box (--allow .*)$/gm)].map(([, line = ""]) => line);
  const type = (line: string) =>
    cli.run([
      "net",
      "box",
      ...[...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? ""),
    ]);

  it("shows what was tried, and offers what would have allowed it, which then does", async () => {
    const tries = () =>
      Promise.all([
        say("https://api.allowed.test/"),
        say("-d", "x", "http://web.allowed.test/"),
        say("http://lan.test/"),
      ]);
    await tries();
    const lines = [
      "--allow api.allowed.test",
      "--allow 'POST http://web.allowed.test'",
      "--allow 'GET http://lan.test'",
    ];
    await expect.poll(async () => offered(await net()).toSorted(), PATIENCE).toEqual(lines.toSorted());
    expect(await net()).toMatch(/denied +web\.allowed\.test:80 .* POST \/ .* no rule allows POST/);
    for (const line of lines) expect((await type(line)).code, line).toBe(0);
    expect(await tries()).toEqual(["hello from api.allowed.test\n", "hello from web.allowed.test\n", ""]);
    // What is there by now is not offered again; what is missing is the network.
    const more = `--allow 'GET http://lan.test@${PRIVATE}/32'`;
    await expect.poll(async () => offered(await net()), PATIENCE).toEqual([more]);
    expect((await type(more)).code).toBe(0);
    expect(await say("http://lan.test/")).toBe("hello from lan.test\n");
    expect(offered(await net())).toEqual([]);
  });

  it("EG-5 says of what no rule can open that none can, and offers none", async () => {
    await say("https://self.test/");
    await expect.poll(async () => offered(await net()), PATIENCE).toEqual(["--allow self.test"]);
    await type("--allow self.test");
    await say("https://self.test/");
    const reason = "self.test:443: self.test leads to an address inside a network that no rule can open";
    await expect.poll(() => net(), PATIENCE).toContain(`What no rule would have helped:\n  ${reason}\n`);
    expect(offered(await net())).toEqual([]);
  });

  it("learns from a run, and holds to what it learned", async () => {
    const tries = () =>
      Promise.all([say("https://learned.test/"), say("-X", "PUT", "http://learned.test/put")]);
    const [tls, put] = ["hello from learned.test\n", "hello from learned.test\n"];
    expect(await tries(), "control").not.toContain(tls);
    expect((await cli.run(["net", "box", "--learn"])).code).toBe(0);
    expect(await tries()).toEqual([tls, put]);
    expect((await cli.run(["net", "box", "--enforce"])).code).toBe(0);
    expect(await tries()).not.toContain(tls);
    const learned = ["--allow learned.test", "--allow 'PUT http://learned.test'"];
    const offers = async () => offered(await net()).filter((line) => line.includes("learned"));
    await expect.poll(async () => (await offers()).toSorted(), PATIENCE).toEqual(learned.toSorted());
    for (const line of learned) expect((await type(line)).code, line).toBe(0);
    expect(await tries()).toEqual([tls, put]);
    await bench.lab.clear();
    await say("http://learned.test/get");
    const { records } = await bench.lab.look();
    expect(
      records.filter(({ kind }) => kind !== "dns"),
      "and no more than that",
    ).toEqual([]);
  });
});
