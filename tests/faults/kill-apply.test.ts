import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Sandbox } from "@sandboxer/sdk";
import { expect, it, onTestFinished, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { startGateway } from "./gateway-process.ts";
import { expectNothingLeft, makeHome } from "./home.ts";

const { describe, given } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 240_000 });

const sh = async (sandbox: Sandbox, script: string) =>
  new TextDecoder().decode((await sandbox.run(["sh", "-c", script])).stdout);

/** A boxd whose next apply dies after so many steps, and takes along what it is told to. */
function makeMortal(folder: string) {
  const [path, fate] = [join(folder, "boxd"), join(folder, "fate")];
  const lines = [
    "#!/bin/sh",
    `if [ "$1 $2" = "apply --box" ] && [ -e ${fate} ]; then`,
    `  read -r steps victim < ${fate}; rm ${fate}`,
    `  ${given.boxd.path} "$@" --die-after $steps`,
    '  [ "$victim" ] && kill -9 $PPID',
    "  exit",
    "fi",
    `exec ${given.boxd.path} "$@"`,
    "",
  ];
  writeFileSync(path, lines.join("\n"), { mode: 0o755 });
  const dieAfter = (steps: number, victim = "") => writeFileSync(fate, `${steps} ${victim}\n`);
  return { path, dieAfter };
}

function makeProject() {
  const home = makeHome(onTestFinished);
  const place = mkdtempSync(join(tmpdir(), "sandboxer-apply-"));
  onTestFinished(() => rmSync(place, { recursive: true }));
  return { home, project: mkdtempSync(join(place, "project-")), ...makeMortal(place) };
}

/** What the host has: the files that are written in each round. */
const roundOf = (project: string) =>
  ["one", "two", "three"].map((name) =>
    existsSync(join(project, name)) ? readFileSync(join(project, name), "utf8") : "",
  );

const appliesOf = async (
  sandbox: Sandbox,
  events: () => Promise<readonly { type: string; sandboxId?: string | undefined; data: unknown }[]>,
) =>
  (await events()).filter(({ type, sandboxId }) => type === "workspace.applied" && sandboxId === sandbox.id);

describe("kill -9 while changes are applied", () => {
  it("RE-1 of boxd at any step: nothing was done and it is refused, or all was and it is told as done", async () => {
    const { home, project, path, dieAfter } = makeProject();
    const { client, end } = await startGateway(home, { SANDBOXER_BOXD: path });
    const sandbox = await client.sandboxes.create({ workspace: { source: project } });
    const told = { done: 0, refused: 0 };
    for (let steps = 0; ; steps++) {
      expect(steps, "it never ends").toBeLessThan(60);
      const before = roundOf(project);
      await sh(sandbox, `for f in one two three; do echo ${steps} > $f; done`);
      dieAfter(steps);
      const outcome = await sandbox.workspace.apply().then(
        ({ applied }) => `applied ${applied}`,
        ({ code }) => String(code),
      );
      const after = roundOf(project);
      expect(readdirSync(project).sort(), "nothing of ours is left").toEqual(
        after.includes("") ? [] : ["one", "three", "two"],
      );
      if (outcome === "extension_failed") expect(after, `${steps}`).toEqual(before);
      else expect([outcome, ...after], `${steps}`).toEqual(["applied 3", ...Array(3).fill(`${steps}\n`)]);
      told[outcome === "extension_failed" ? "refused" : "done"] += 1;
      // It had nothing left to die after.
      if (told.done > 0 && steps > 20) break;
    }
    expect(told.refused, "control: it died before it had decided").toBeGreaterThan(3);
    expect(told.done).toBeGreaterThan(3);
    expect(await appliesOf(sandbox, () => client.events.list({ limit: 1_000 }))).toHaveLength(told.done);
    expect(readdirSync(join(home, "engine/applied"))).toEqual([]);
    await sandbox.destroy();
    expect(await end("SIGTERM")).toBe(0);
    await expectNothingLeft(home);
  });

  it("RE-1 of the gateway with it: the next one completes it, says so in the log, and goes on from there", async () => {
    const { home, project, path, dieAfter } = makeProject();
    const doomed = await startGateway(home, { SANDBOXER_BOXD: path });
    const first = await doomed.client.sandboxes.create({ workspace: { source: project } });
    await sh(first, "for f in one two three; do echo 1 > $f; done");
    // Its journal is written, and the first of three is in its place.
    dieAfter(7, "gateway");
    await expect(first.workspace.apply()).rejects.toThrow();
    expect(await doomed.ended()).toBe(null);
    expect(roundOf(project), "control: it is half-way").toEqual(["1\n", "", ""]);

    const { client, end } = await startGateway(home);
    expect(roundOf(project)).toEqual(["1\n", "1\n", "1\n"]);
    const sandbox = await client.sandboxes.get(first.id);
    const events = () => client.events.list({ limit: 1_000 });
    await expect
      .poll(() => appliesOf(sandbox, events))
      .toMatchObject([{ data: { source: project, applied: 3, paths: ["one", "three", "two"] } }]);
    await sh(sandbox, "echo 2 > one");
    expect(await sandbox.workspace.apply(), "what it brought is no change of the host's").toMatchObject({
      applied: 1,
    });
    expect(await appliesOf(sandbox, events)).toHaveLength(2);
    await sandbox.destroy();
    expect(await end("SIGTERM")).toBe(0);
    await expectNothingLeft(home);
  });
});
