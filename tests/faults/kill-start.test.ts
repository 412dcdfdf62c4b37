import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { cliOf } from "../e2e/cli-process.ts";
import { startGateway } from "./gateway-process.ts";
import { makeHome } from "./home.ts";

const { describe } = await requires("linux-userns", "boxd");

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const BIN = at("../../apps/cli/bin/sandboxer.cjs");

/** Starts a gateway that is killed at that step; says whether it was, and what it had begun to write. */
async function startAndDie(home: string, step: number): Promise<{ died: boolean; drafts: string[] }> {
  const { environment } = cliOf(home);
  const argv = ["--import", at("die-at-write.ts"), BIN, "up", "--port", "0", "--json"];
  const env = { ...environment, DIE_AT_STEP: String(step) };
  const child = spawn(process.execPath, argv, { env, stdio: ["ignore", "pipe", "ignore"] });
  const ended = once(child, "close");
  child.stdout?.once("data", () => child.kill("SIGTERM"));
  const [, signal] = await ended;
  const drafts = readdirSync(home).filter((name) => /\.\d+$/.test(name));
  return { died: signal === "SIGKILL", drafts };
}

describe("kill -9 of the gateway while it starts for the first time", () => {
  it("RE-1 at any step leaves no draft once the next one has begun", async () => {
    const seen = new Set<string>();
    for (let step = 1; ; step++) {
      const home = makeHome(onTestFinished);
      const { died, drafts } = await startAndDie(home, step);
      if (!died) break;
      for (const name of drafts) seen.add(name.replace(/\.\d+$/, ""));
      expect((await cliOf(home).run(["keys", "ls"])).code).toBe(0);
      expect(readdirSync(home).filter((name) => /\.\d+$/.test(name))).toEqual([]);
    }
    expect([...seen].sort(), "control: each was met").toEqual(
      expect.arrayContaining([
        "gateway.json",
        "root.key",
        "secrets.key",
        "snapshot.key",
        "tls.key",
        "tls.pem",
      ]),
    );
  });

  it("RE-1 spares what another process is writing", async () => {
    const home = makeHome(onTestFinished);
    const living = join(home, `root.key.${process.pid}`);
    writeFileSync(living, "");
    const gateway = await startGateway(home);
    expect(existsSync(living)).toBe(true);
    expect(await gateway.end("SIGTERM")).toBe(0);
  });
});
