import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ensureDebianPackage } from "../../tests/capabilities/debian.ts";
import { command } from "../command.ts";
import type { Subject } from "../subject.ts";

/** A library around bubblewrap: one process per sandbox, on a view of the host's own files. */
export const sandboxRuntime: Subject = {
  name: "sandbox-runtime",
  async version() {
    for (const name of ["bubblewrap", "socat", "ripgrep"]) await ensureDebianPackage(name);
    const { SandboxManager } = await import("@anthropic-ai/sandbox-runtime");
    const { errors } = await SandboxManager.checkDependencies();
    if (errors.length > 0) throw new Error(errors.join("; "));
    // Its exports hide the manifest, which lies two folders above its door.
    const door = fileURLToPath(import.meta.resolve("@anthropic-ai/sandbox-runtime"));
    return JSON.parse(readFileSync(join(door, "../../package.json"), "utf8")).version;
  },
  async open({ scratch }) {
    const { SandboxManager } = await import("@anthropic-ai/sandbox-runtime");
    await SandboxManager.initialize({
      network: { allowedDomains: [], deniedDomains: [] },
      filesystem: { denyRead: [], allowWrite: [scratch], denyWrite: [] },
    });
    return {
      cycle: async () => {
        // It gives a line for a shell; that is how it is meant to be used.
        await command("/bin/sh", ["-c", await SandboxManager.wrapWithSandbox("true")], { cwd: scratch });
        return undefined;
      },
      close: () => SandboxManager.reset(),
    };
  },
};
