import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { importTestImage, TEST_IMAGE } from "../conformance/docker-image.ts";
import { holds, KEY, MODEL } from "./lab/keys.ts";
import { WORLD } from "./lab/lab.ts";
import { type Bench, openBench, text } from "./lab/sandbox.ts";

const { describe, given } = await requires("docker", "boxd", "egress-lab");

vi.setConfig({ testTimeout: 120_000 });

describe("secrets and questions in a container", () => {
  let bench: Bench;
  let sandbox: Sandbox;
  beforeAll(async () => {
    await importTestImage(given.docker);
    bench = await openBench({ DOCKER_HOST: given.docker.host });
    for (const name of ["model.test", "other.test", "asked.test"]) await bench.lab.name(name, [WORLD]);
    await bench.lab.accept(KEY);
    await bench.client.secrets.set("MODEL_KEY", { value: KEY, bindings: [MODEL] });
    const rules = [
      { host: "model.test" },
      { host: "other.test", inspect: true },
      { host: "asked.test", inspect: true, effect: "ask" as const },
    ];
    sandbox = await bench.sandbox(
      { rules },
      { image: { kind: "oci", ref: TEST_IMAGE }, secrets: ["MODEL_KEY"] },
    );
  }, 300_000);
  afterAll(() => bench.close());
  beforeEach(() => bench.lab.clear());

  const ask = async (one: Sandbox, line: string) =>
    text((await one.run(["sh", "-c", `curl -s --max-time 60 ${line}`], { timeoutMs: 90_000 })).stdout);
  const model = (one: Sandbox) => ask(one, '-H "x-api-key: $MODEL_KEY" -d {} https://model.test/v1/messages');
  const requests = async () => (await bench.lab.look()).records.filter(({ kind }) => kind === "request");

  it("SE-1 SE-2 SE-6 SE-9 its key works, is nowhere inside or in docker's words, and goes nowhere else", async () => {
    expect(await model(sandbox)).toContain("four");
    const docker = async (...args: string[]) =>
      (await promisify(execFile)(given.docker.cli, ["--host", given.docker.host, ...args])).stdout;
    const container = (
      await docker("ps", "-q", "--filter", `label=dev.sandboxer.sandbox=${sandbox.id}`)
    ).trim();
    const stdout = await docker("inspect", "--size", container);
    expect(stdout).toContain(sandbox.id);
    expect(holds(stdout, KEY)).toEqual([]);
    // What docker keeps of it, and what it told its runtime.
    const home = dirname(given.docker.host.replace("unix://", ""));
    const kept = ["data/containers", "exec"].flatMap((name) => configsIn(join(home, name), container));
    expect(kept.length, "control: they are there, and read").toBeGreaterThan(1);
    expect(kept.filter((path) => holds(readFileSync(path, "latin1"), KEY).length > 0)).toEqual([]);
    expect(kept.some((path) => readFileSync(path, "latin1").includes(sandbox.id))).toBe(true);
    const inside = await sandbox.run(["sh", "-c", "cat /proc/[0-9]*/environ; cat /home/user/* 2>/dev/null"], {
      user: "root",
    });
    expect(holds(text(inside.stdout), KEY)).toEqual([]);
    expect(text(inside.stdout), "control").toContain("MODEL_KEY=sk-ant-api03-");
    await bench.lab.clear();
    expect(await ask(sandbox, '-H "x-api-key: $MODEL_KEY" https://other.test/')).toContain(
      "where that may not go",
    );
    expect(await requests()).toEqual([]);
  });

  it("a question waits, and a yes is for one request", async () => {
    const waiting = ask(sandbox, "https://asked.test/x");
    await expect.poll(async () => (await bench.client.approvals.list({ state: "pending" })).length).toBe(1);
    expect(await requests()).toEqual([]);
    const [question] = await bench.client.approvals.list({ state: "pending" });
    await bench.client.approvals.approve(question?.id ?? "");
    expect(await waiting).toBe("hello from asked.test\n");
  });

  it("SE-8 holds over a rotation and a restart of the gateway", async () => {
    const next = `${KEY.slice(0, -4)}9999`;
    await bench.client.secrets.rotate("MODEL_KEY", { value: next });
    expect(await model(sandbox)).toContain("authentication_error");
    await bench.lab.accept(next);
    expect(await model(sandbox)).toContain("four");
    await bench.gateway.close();
    const client = await bench.reopen();
    expect(await model(await client.sandboxes.get(sandbox.id))).toContain("four");
  });
});

/** The documents about this container that are in a folder or below it. */
function configsIn(dir: string, container: string): string[] {
  const all = readdirSync(dir, { recursive: true, encoding: "utf8" });
  return all
    .filter((name) => name.includes(container) && /(?:^|\/)[\w.]*config[\w.]*json$/.test(name))
    .map((name) => join(dir, name));
}
