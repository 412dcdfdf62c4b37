import { closeSync, fsyncSync, openSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openGateway } from "@sandboxer/gateway";
import { createClient, type Sandbox } from "@sandboxer/sdk";

/**
 * A gateway on a machine that is switched off in its first life, and started again for its second.
 * Given are which of the two it is, and the installation's home.
 */
const [life = "", home = ""] = process.argv.slice(2);
const gateway = await openGateway({ home, listen: { host: "127.0.0.1", port: 0 }, log: () => {} });
// Without a compiler Node's own fetch has no way to read an answer.
const client = createClient({ url: gateway.url ?? "", apiKey: gateway.apiKey, fetch: gateway.fetch });
const sh = async (sandbox: Sandbox, script: string) =>
  Buffer.from((await sandbox.run(["sh", "-c", script])).stdout).toString();

if (life === "first") {
  for (const persistence of ["persistent", "ephemeral"] as const) {
    const sandbox = await client.sandboxes.create({ name: persistence, persistence, ttlMs: 3_600_000 });
    await sh(sandbox, `echo ${persistence} > ~/file; chmod 640 ~/file; sync; sleep 1000 &`);
  }
  const [copy] = await (await client.sandboxes.get("persistent")).fork({ names: ["copy"] });
  if (!copy) throw new Error("there is no fork");
  // Its row, its record and its own disk follow by themselves in a moment; what it lies on was there before it.
  await copy.metrics();
  await sh(copy, "dd if=/dev/zero of=own bs=1 count=1 conv=fsync");
  for (const name of readdirSync(home).filter((name) => name.startsWith("state.db")))
    bringToMedium(join(home, name));
  // At once: nothing is put away, and what is in memory alone is gone.
  writeFileSync("/proc/sysrq-trigger", "b");
} else {
  const sandboxes: Sandbox[] = [];
  for await (const sandbox of client.sandboxes.all()) sandboxes.push(sandbox);
  const states = sandboxes.map(({ info: { name, state, pauseDepth } }) => ({ name, state, pauseDepth }));
  const kept = await client.sandboxes.get("persistent");
  await kept.start();
  const found = await sh(
    kept,
    "cat ~/file; stat -c '%a %U' ~/file; ps -e | grep -c sleep; echo more >> ~/file",
  );
  await kept.stop();
  await kept.start();
  const after = await sh(kept, "cat ~/file");
  await kept.destroy();
  const copy = await client.sandboxes.get("copy");
  await copy.start();
  const copied = await sh(copy, "cat ~/file; stat -c '%a %U' ~/file");
  await copy.destroy();
  console.log(JSON.stringify({ states, found, after, copied }));
  await gateway.close();
}

function bringToMedium(path: string): void {
  const file = openSync(path, "r+");
  fsyncSync(file);
  closeSync(file);
}
