import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { openGateway, silent } from "@sandboxer/gateway";
import { createClient } from "@sandboxer/sdk";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "../conformance/remove-engine.ts";
import { busyboxLayer, makeImage } from "../images/image-maker.ts";
import { type Registry, startRegistry } from "../images/registry.ts";
import { cliOf } from "./cli-process.ts";

const { describe, given } = await requires("linux-userns", "boxd", "docker-registry");

vi.setConfig({ testTimeout: 120_000, hookTimeout: 300_000 });

const root = fileURLToPath(new URL("../..", import.meta.url));
const page = readFileSync(join(root, "docs/images.md"), "utf8");
const [walk = ""] = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, body]) => body ?? "");

describe("images from the command line and over HTTP", () => {
  let home: string;
  let place: string;
  let registry: Registry;
  const cli = () => cliOf(home);

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "sandboxer-e2e-images-"));
    place = await mkdtemp(join(tmpdir(), "sandboxer-e2e-tar-"));
    registry = await startRegistry(given["docker-registry"].path);
    const base = await busyboxLayer();
    await registry.push(
      "tools",
      "1",
      makeImage({ layers: [base, [{ name: "etc/os-release", content: "ID=made\n" }]] }),
    );
    await writeFile(join(home, "config.yaml"), JSON.stringify({ images: { registries: [registry.host] } }));
    await writeFile(join(place, "tools.tar"), base);
  });
  afterAll(async () => {
    await registry?.stop();
    await removeEngine(join(home, "engine"), home);
    await rm(place, { recursive: true, force: true });
  });

  it("the page's walk does what it says", async () => {
    const script = walk.replace("cat /etc/os-release", "echo inside");
    const { stdout } = await promisify(execFile)("sh", ["-euc", script], {
      cwd: place,
      timeout: 110_000,
      env: {
        ...process.env,
        PATH: `${join(root, "node_modules/.bin")}:${process.env.PATH}`,
        SANDBOXER_HOME: home,
      },
    });
    expect(stdout).toMatch(
      /^sha256:[0-9a-f]{64}\ninside\nNAME +DIGEST[\s\S]+tools:latest +sha256:[\s\S]+\ntools\n$/,
    );
  });

  it("pulls, shows, runs and removes one, and gives errors as the table has them", async () => {
    const ref = `${registry.host}/tools:1`;
    const pulled = JSON.parse((await cli().run(["images", "pull", ref, "--json"])).stdout);
    expect(pulled).toMatchObject({ extensionId: "local", names: [ref], layers: 2 });
    expect(JSON.parse((await cli().run(["images", "inspect", pulled.digest])).stdout)).toEqual(pulled);
    const run = await cli().run(["run", "--image", ref, "--", "cat", "/etc/os-release"]);
    expect(run.stdout, run.stderr).toBe("ID=made\n");
    const missing = await cli().run(["images", "pull", `${registry.host}/none:1`, "--json"]);
    expect(missing.code).toBe(66);
    expect(JSON.parse(missing.stderr || missing.stdout)).toMatchObject({ error: { code: "not_found" } });
    expect((await cli().run(["images", "rm", ref])).stdout).toBe(`${ref}\n`);
    expect((await cli().run(["images", "ls", "--json"])).stdout).toBe("[]\n");
    expect((await cli().run(["images", "prune"])).stdout).toMatch(/^\d+ images and \d+ layers/);
  });

  it("AZ-2 is for keys that may, of the installation's own org, and is written down", async () => {
    const gateway = await openGateway({ home, listen: false, log: silent });
    const clientOf = (apiKey: string) =>
      createClient({ url: "http://localhost", apiKey, fetch: gateway.fetch });
    const owner = clientOf(gateway.apiKey);
    try {
      const { apiKey } = await owner.keys.create({
        name: "narrow",
        operations: ["sandbox.create", "sandbox.read"],
      });
      const narrow = clientOf(apiKey);
      const { apiKey: strangerKey } = await owner.orgs.create({ name: "others" });
      const stranger = clientOf(strangerKey);
      const ref = `${registry.host}/tools:1`;
      for (const denied of [
        narrow.images.pull(ref),
        narrow.images.prune(),
        stranger.images.list(),
        stranger.images.pull(ref),
        narrow.sandboxes.create({ image: { kind: "rootfs", path: place } }),
        narrow.sandboxes.create({ image: { kind: "host", tools: [place] } }),
      ]) {
        await expect(denied).rejects.toMatchObject({ code: "policy_denied" });
      }
      const said: string[] = [];
      await owner.images.pull(ref, { hear: (message) => said.push(message) });
      expect(said[0]).toContain("pulling");
      expect((await narrow.images.list()).length).toBe(1);
      await owner.images.remove(ref);
      const events = await owner.events.list({ limit: 100 });
      const types = events.map(({ type }) => type);
      expect(types).toEqual(expect.arrayContaining(["image.pulled", "image.removed"]));
    } finally {
      await gateway.close();
    }
  });
});
