import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { openGatewayProcess } from "./gateway-process.ts";

it("tells what a gateway said that ends before it is ready", async () => {
  const scratch = mkdtempSync(join(tmpdir(), "sandboxer-bench-"));
  onTestFinished(() => rmSync(scratch, { recursive: true }));
  const place = { scratch, rootfs: "/" };
  await expect(openGatewayProcess(place, { NODE_OPTIONS: "--no-such-option" })).rejects.toThrow(
    /ended with 9 .*--no-such-option/,
  );
}, 30_000);
