import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";

const { describe } = await requires("linux-userns", "egress-lab");

const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const ADDRESS = at("packages/egress/src/address.ts");
const GATEWAY = at("apps/gateway/src/index.ts");

/** In a network of its own: a cable with its far end down, and a whole range that leads to lo. */
const SETUP = [
  "ip link set lo up",
  "ip link add near type veth peer name far",
  "ip addr add 93.184.9.9/24 dev near",
  "ip addr add 2606:2800::9/64 dev near nodad",
  "ip link set near up",
  "ip route add local 93.185.0.0/16 dev lo",
].join(" && ");

describe("EG-5 this machine's own addresses", () => {
  it("are inside also where no carrier is, or a whole range is local", () => {
    const asked = [
      "93.184.9.9",
      "2606:2800::9",
      "2606:2800:0::0:9",
      "93.185.7.7",
      "93.184.9.8",
      "2606:2800::8",
    ];
    const script = `
      import { networkInterfaces } from "node:os";
      import { reachOf } from ${JSON.stringify(ADDRESS)};
      const shown = Object.keys(networkInterfaces());
      console.log(JSON.stringify({ shown, reach: ${JSON.stringify(asked)}.map((one) => reachOf(one)) }));`;
    const { shown, reach } = JSON.parse(inNetworkOfItsOwn(script));
    expect(shown, "control: an interface without a carrier is not shown").toEqual(["lo"]);
    expect(reach).toEqual(["inside", "inside", "inside", "inside", "open", "open"]);
  });

  it("AZ-5 EG-15 are no receivers of webhooks", () => {
    const home = mkdtempSync(join(tmpdir(), "sandboxer-own-"));
    const script = `
      import { openGateway } from ${JSON.stringify(GATEWAY)};
      const listen = { host: "127.0.0.1", port: 0 };
      const gateway = await openGateway({ home: ${JSON.stringify(home)}, listen, log: () => {} });
      const register = async (host) => {
        const headers = { authorization: "Bearer " + gateway.apiKey, "content-type": "application/json" };
        const body = JSON.stringify({ url: "https://" + host + "/hook" });
        const answer = await fetch(gateway.url + "/v1/webhooks", { method: "POST", headers, body });
        return [answer.status, (await answer.json()).error?.code];
      };
      const hosts = ["93.184.9.9", "[2606:2800::9]", "93.185.7.7", "93.184.9.8"];
      const answers = [];
      for (const host of hosts) answers.push(await register(host));
      await gateway.close();
      console.log(JSON.stringify(answers));`;
    const denied = [403, "policy_denied"];
    const answers = JSON.parse(inNetworkOfItsOwn(script));
    rmSync(home, { recursive: true });
    expect(answers.slice(0, 3)).toEqual([denied, denied, denied]);
    expect(answers[3], "control: the neighbour's is one").toEqual([201, null]);
  });
});

function inNetworkOfItsOwn(script: string): string {
  const run = `${SETUP} && exec "$0" --input-type=module -e "$1"`;
  return execFileSync("unshare", ["--net", "sh", "-c", run, process.execPath, script], { encoding: "utf8" });
}
