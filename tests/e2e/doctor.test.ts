import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { doctorSchema } from "@sandboxer/contract";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "../conformance/remove-engine.ts";
import { cliOf } from "./cli-process.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const DOCUMENT = new URL("../../docs/doctor.md", import.meta.url);

describe("doctor", () => {
  let place: string;
  let cli: ReturnType<typeof cliOf>;
  let tools: string;
  const asked = async (...args: string[]) => {
    const { code, stdout } = await cli.run(["doctor", ...args, "--json"]);
    return { code, extensions: doctorSchema.parse({ extensions: JSON.parse(stdout) }).extensions };
  };

  beforeAll(async () => {
    place = await mkdtemp(join(tmpdir(), "sandboxer-doctor-"));
    tools = join(place, "user/.nvm/versions/node/v99.1.0");
    await mkdir(tools, { recursive: true });
    await mkdir(join(place, "user/.local/share/mise/installs/go/1.99"), { recursive: true });
    cli = cliOf(join(place, "home"), {
      HOME: join(place, "user"),
      DOCKER_HOST: `unix://${join(place, "nothing.sock")}`,
    });
  });
  afterAll(async () => {
    await removeEngine(join(place, "home/engine"));
    await rm(place, { recursive: true, force: true });
  });

  it("says as data what it can enforce, each thing by an id that is documented, each lack with its fix", async () => {
    const { code, extensions } = await asked();
    expect(code, "one that is ready is enough").toBe(0);
    expect(extensions.local?.status).toBe("offer");
    expect(extensions.docker).toMatchObject({
      status: "unavailable",
      reason: expect.stringMatching(/./),
      fix: expect.stringContaining("docker"),
    });
    const findings = Object.values(extensions).flatMap((probe) => probe.findings);
    const page = await readFile(DOCUMENT, "utf8");
    expect(findings.length).toBeGreaterThan(8);
    for (const { id } of findings) expect(page, id).toContain(`\`${id}\``);
    expect(new Set(findings.map(({ id }) => id)).size, "no id twice").toBe(findings.length);
  });

  it("proposes what a version manager keeps", async () => {
    const { extensions } = await asked("local");
    const found = extensions.local?.findings.find(({ id }) => id === "local.tools");
    expect(found).toMatchObject({ ok: true });
    expect(found?.message).toContain(tools);
    expect(found?.message).toContain("mise/installs/go/1.99");
  });

  it("ends with 0 only where all that was asked for can be had", async () => {
    expect((await asked("local")).code).toBe(0);
    expect((await asked("docker")).code).toBe(69);
    expect((await asked("local", "docker")).code, "both").toBe(69);
    const { code, extensions } = await asked("local", "--strict");
    expect(code).toBe(extensions.local?.findings.every(({ ok }) => ok) ? 0 : 69);
    const unknown = await cli.run(["doctor", "dokcer", "--json"]);
    expect(unknown.code).toBe(2);
    expect(JSON.parse(unknown.stderr).error.message).toContain("local");
  });

  it("says the same in words, every lack followed by its fix", async () => {
    const { stdout } = await cli.run(["doctor"]);
    const lines = stdout.split("\n");
    expect(lines.filter((line) => line.startsWith("docker: unavailable"))).toHaveLength(1);
    const lacks = lines.flatMap((line, at) => (/^ {2}no /.test(line) ? [lines[at + 1] ?? ""] : []));
    expect(lacks.length).toBeGreaterThan(0);
    for (const line of lacks) expect(line).toMatch(/^ {6}fix: ./);
  });
});
