import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { openEngine, withFolder } from "./engine.ts";
import { plant } from "./planting.ts";
import type { Finding } from "./posture/check.ts";
import type { Role } from "./posture/expected.ts";

/**
 * Runs as root in a guest, which is the outer cage: some of what it plants has every right of that
 * machine. Takes boxd, the probe, and the faults to plant; prints a line of JSON for each.
 */
const [boxdPath = "", probePath = "", ...faults] = process.argv.slice(2);

const say = (name: string, found: Finding[]): void => {
  const checks = [...new Set(found.map(({ check }) => check))].sort();
  console.log(JSON.stringify({ name, checks, says: found[0]?.says }));
};

const engine = await openEngine({ boxdPath });
const box = await engine.create();
const plantIn = (sandbox: typeof box, fault: string, role?: Role): Promise<Finding[]> =>
  plant({ engine, probePath }, { fault, box: sandbox, ...(role && { role }) });

for (const fault of faults) say(fault, await plantIn(box, fault));
for (const whose of ["own", "host"]) {
  const fault = `terminal=${whose}`;
  say(fault, await plantIn(box, fault, "terminal"));
}

const resumed = await engine.create();
await engine.pauseAndResume(resumed);
for (const fault of faults) say(`${fault}, resumed`, await plantIn(resumed, fault));

/** In a sandbox of its own, whose mount table it spoils. */
const plantMount = async (name: string, source: string): Promise<void> => {
  const spoilt = await engine.create();
  say(name, await plantIn(spoilt, `mount=${source}`));
  await engine.destroy(spoilt);
};

await withFolder((folder) => plantMount("a writable folder of the host", folder));
await withFolder(async (folder) => {
  const server = createServer().listen(join(folder, "docker.sock"));
  await once(server, "listening");
  await plantMount("a control socket in reach", join(folder, "docker.sock"));
  server.close();
});
await plantMount("a cgroup file system", "/sys/fs/cgroup");
await engine.close();
