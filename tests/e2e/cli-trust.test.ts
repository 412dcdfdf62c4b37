import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "../conformance/remove-engine.ts";
import { cliOf, end, firstLine } from "./cli-process.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 180_000, hookTimeout: 300_000 });

describe("an agent at the command line", () => {
  const home = mkdtempSync(join(tmpdir(), "sandboxer-cli-trust-"));
  const { run, start, environment } = cliOf(home);
  afterAll(() => removeEngine(join(home, "engine"), home));

  it("is unknown until it proves who it is, and each time the plan says so", async () => {
    const gateway = start(["up", "--port", "0"]);
    try {
      await firstLine(gateway);
      for (const name of ["agent", "other"]) {
        const { publicKey, privateKey } = generateKeyPairSync("ed25519");
        writeFileSync(join(home, `${name}.key`), privateKey.export({ type: "pkcs8", format: "pem" }));
        writeFileSync(join(home, `${name}.pub`), publicKey.export({ type: "spki", format: "pem" }));
      }
      const options = ["--identity", join(home, "agent.pub"), "--capabilities", "none"];
      const made = await run(["keys", "create", ...options]);
      expect(made).toMatchObject({ code: 0, stderr: "" });
      const asAgent: Record<string, string | undefined> = environment;
      asAgent.SANDBOXER_API_KEY = made.stdout.trim();
      expect((await run(["route", "explain"])).stdout).toContain(
        "trust: unknown, so isolation is at least strongest\n",
      );
      const wrong = await run(["keys", "prove", join(home, "other.key")]);
      expect([wrong.code === 0, wrong.stderr]).toEqual([false, expect.stringContaining("is not of the key")]);
      expect(await run(["keys", "prove", join(home, "agent.key")])).toEqual({
        code: 0,
        stdout: "verified\n",
        stderr: "",
      });
      expect((await run(["route", "explain"])).stdout).toContain(
        "trust: verified, so isolation is at least process\n",
      );
      const beyond = await run(["run", "--allow", "api.example.com", "--", "true"]);
      expect([beyond.code === 0, beyond.stderr]).toEqual([false, expect.stringContaining("capabilities")]);
    } finally {
      await end(gateway, "SIGTERM");
    }
  });
});
