import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";

const { describe } = await requires("linux-userns", "egress-lab");

const ADDRESS = fileURLToPath(new URL("../../packages/egress/src/address.ts", import.meta.url));

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
    const run = `${SETUP} && exec "$0" --input-type=module -e "$1"`;
    const said = execFileSync("unshare", ["--net", "sh", "-c", run, process.execPath, script], {
      encoding: "utf8",
    });
    const { shown, reach } = JSON.parse(said);
    expect(shown, "control: an interface without a carrier is not shown").toEqual(["lo"]);
    expect(reach).toEqual(["inside", "inside", "inside", "inside", "open", "open"]);
  });
});
