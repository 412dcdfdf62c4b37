import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { CapabilityReporter } from "./tests/capabilities/reporter.ts";

export default defineConfig({
  test: {
    include: ["{packages,apps}/*/src/**/*.test.ts", "{tests,bench,scripts}/**/*.test.ts"],
    pool: "forks",
    // Most of them wait for a sandbox or a server: also on two cores two run at once.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // How long somebody waits is no promise of anything: it is there to end what would wait for ever.
    testTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    // A busy machine can be too slow for one of thousands. In CI such a test is tried once more, and named.
    retry: process.env.CI ? 1 : 0,
    // Debian's runc is below the floor; tests that are about something else use it all the same.
    env: { SANDBOXER_ALLOW_UNSAFE_RUNTIME: "docker,docker-gvisor" },
    // Starting a daemon or building something may take a while on a small machine.
    hookTimeout: 300_000,
    globalSetup: "tests/capabilities/global-setup.ts",
    reporters: ["default", new CapabilityReporter()],
  },
});
