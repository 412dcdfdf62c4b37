import { writeSync } from "node:fs";
import { openGateway, silent, untilSignal } from "@sandboxer/gateway";

/** A gateway in a process of its own, whose guard looks out on the lab: to be killed. */
const [home = "", guard = "{}"] = process.argv.slice(2);
const listen = { host: "127.0.0.1", port: 0 };
const gateway = await openGateway({ home, listen, log: silent, guard: JSON.parse(guard) });
const ended = untilSignal(gateway, () => {});
writeSync(1, `${JSON.stringify({ url: gateway.url, apiKey: gateway.apiKey })}\n`);
await ended;
process.exit(0);
