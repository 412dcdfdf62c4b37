import { writeSync } from "node:fs";
import { openGateway, silent, untilSignal } from "@sandboxer/gateway";

/** A program of its own: the gateway as `sandboxer up` opens it, killed at the place it is told. */
const [home = "", dieAt = ""] = process.argv.slice(2);
const gateway = await openGateway({
  home,
  listen: { host: "127.0.0.1", port: 0 },
  log: silent,
  failpoint(place) {
    if (place !== dieAt) return;
    writeSync(1, `reached ${place}\n`);
    process.kill(process.pid, "SIGKILL");
  },
});
/** On SIGUSR2 it says what it holds on to, once what it does not has been collected. */
process.on("SIGUSR2", () => {
  globalThis.gc?.();
  const { heapUsed } = process.memoryUsage();
  writeSync(
    1,
    `${JSON.stringify({ heapKiB: heapUsed >> 10, resources: process.getActiveResourcesInfo().length })}\n`,
  );
});
const ended = untilSignal(gateway, () => {});
writeSync(1, `${JSON.stringify({ url: gateway.url, apiKey: gateway.apiKey })}\n`);
await ended;
process.exit(0);
