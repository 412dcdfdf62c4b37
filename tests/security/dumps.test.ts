import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient } from "@sandboxer/sdk";
import { expect, it, onTestFinished, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { firstLine } from "../e2e/cli-process.ts";
import { makeHome } from "../faults/home.ts";
import { holdOf } from "../faults/processes.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000 });

const SANDBOXER = fileURLToPath(new URL("../../apps/cli/bin/sandboxer", import.meta.url));
const coreLimit = (pid: number | "self", which: "now" | "most" = "now") =>
  /^Max core file size +(?<now>\S+) +(?<most>\S+)/m.exec(readFileSync(`/proc/${pid}/limits`, "utf8"))
    ?.groups?.[which];

describe("what has secrets in its memory", () => {
  it("SE-7 leaves no dump of it, whatever the operator's shell allows", async () => {
    const home = makeHome(onTestFinished);
    const place = mkdtempSync(join(tmpdir(), "sandboxer-dumps-"));
    onTestFinished(() => rmSync(place, { recursive: true }));
    const { SANDBOXER_URL: _url, SANDBOXER_API_KEY: _key, ...rest } = process.env;
    const PATH = `${dirname(process.execPath)}:${rest.PATH}`;
    const env = { ...rest, PATH, SANDBOXER_HOME: home };
    const allowing = 'ulimit -c unlimited 2>/dev/null; exec "$0" "$@"';
    const up = spawn("sh", ["-c", allowing, SANDBOXER, "up", "--port", "0", "--json"], { cwd: place, env });
    const { url, apiKey } = JSON.parse(await firstLine(up));
    const sandbox = await createClient({ url, apiKey }).sandboxes.create({});
    const hold = holdOf(home) ?? 0;
    expect([coreLimit(up.pid ?? 0), coreLimit(hold)]).toEqual(["0", expect.stringMatching(/^[01]$/)]);
    await sandbox.destroy();
    const ended = once(up, "exit");
    up.kill("SIGABRT");
    expect((await ended)[1]).toBe("SIGABRT");
    expect(readdirSync(place)).toEqual([]);

    // Control: the same end, without that limit, leaves one where the kernel writes them beside programs.
    const other = spawn("sh", ["-c", "ulimit -c unlimited; kill -ABRT $$"], { cwd: place });
    await once(other, "exit");
    const pattern = readFileSync("/proc/sys/kernel/core_pattern", "utf8").trim();
    const writesBeside = !/^[|/]/.test(pattern) && coreLimit("self", "most") !== "0";
    expect(readdirSync(place).length > 0, pattern).toBe(writesBeside);
  });
});
