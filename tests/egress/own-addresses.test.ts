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

  it("are those of now, whatever they were before", () => {
    const script = `
      import { execFileSync } from "node:child_process";
      import { reachOf } from ${JSON.stringify(ADDRESS)};
      const ip = (words) => execFileSync("ip", words.split(" "));
      const look = () => ["93.184.9.8", "2606:2800::8"].map((one) => reachOf(one));
      const before = look();
      ip("addr add 93.184.9.8/32 dev near");
      ip("addr add 2606:2800::8/128 dev near nodad");
      const during = look();
      ip("addr del 93.184.9.8/32 dev near");
      ip("addr del 2606:2800::8/128 dev near");
      console.log(JSON.stringify({ before, during, after: look() }));`;
    const { before, during, after } = JSON.parse(inNetworkOfItsOwn(script));
    expect(during).toEqual(["inside", "inside"]);
    expect([before, after], "control: without them").toEqual([
      ["open", "open"],
      ["open", "open"],
    ]);
  });

  it("are all of them, however many there are", () => {
    const script = `
      import { execFileSync } from "node:child_process";
      import { reachOf } from ${JSON.stringify(ADDRESS)};
      const numbers = Array.from({ length: 300 }, (_, at) => [at >> 8, at & 255]);
      const v4 = numbers.map((two) => "93.186." + two.join("."));
      const v6 = numbers.map((two) => "2606:2801::" + two.map((one) => one.toString(16)).join(":"));
      const add = (one) => "addr add " + one + " dev near" + (one.includes(":") ? " nodad" : "");
      execFileSync("ip", ["-batch", "-"], { input: [...v4, ...v6].map(add).join("\\n") });
      const reach = (all) => [...new Set(all.map((one) => reachOf(one)))];
      console.log(JSON.stringify([reach(v4), reach(v6), reach(["93.186.8.1", "2606:2801::8:1"])]));`;
    const [v4, v6, others] = JSON.parse(inNetworkOfItsOwn(script));
    expect([v4, v6]).toEqual([["inside"], ["inside"]]);
    expect(others, "control: the neighbours").toEqual(["open"]);
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

  it("EG-15 are nowhere that a registry leads to, unless the operator names them", () => {
    const pulled = (isNamed: boolean) => {
      const home = mkdtempSync(join(tmpdir(), "sandboxer-own-"));
      const script = `
        import { writeFileSync } from "node:fs";
        import { createServer } from "node:http";
        import { openGateway } from ${JSON.stringify(GATEWAY)};
        const asked = [];
        const serve = (host, answer) =>
          new Promise((resolve) => {
            const server = createServer(answer).listen(0, host, () => resolve(host + ":" + server.address().port));
          });
        const own = await serve("93.184.9.9", ({ url }, answer) => void (asked.push(url), answer.writeHead(404).end()));
        const lead = { location: "http://" + own + "/led" };
        const registry = await serve("127.0.0.1", (_, answer) => void answer.writeHead(307, lead).end());
        const registries = ${isNamed} ? [registry, own] : [registry];
        writeFileSync(${JSON.stringify(join(home, "config.yaml"))}, JSON.stringify({ images: { registries } }));
        const gateway = await openGateway({ home: ${JSON.stringify(home)}, listen: false, log: () => {} });
        const headers = { authorization: "Bearer " + gateway.apiKey, "content-type": "application/json" };
        const body = JSON.stringify({ ref: registry + "/tools:1" });
        const answer = await gateway.fetch("http://localhost/v1/images/pull", { method: "POST", headers, body });
        const said = await answer.text();
        await gateway.close();
        console.log(JSON.stringify({ asked, isDenied: said.includes("policy_denied") }));
        process.exit(0);`;
      const answer = JSON.parse(inNetworkOfItsOwn(script));
      rmSync(home, { recursive: true });
      return answer;
    };
    expect(pulled(false)).toEqual({ asked: [], isDenied: true });
    expect(pulled(true), "control: it is there to be asked").toEqual({ asked: ["/led"], isDenied: false });
  });
});

function inNetworkOfItsOwn(script: string): string {
  const run = `${SETUP} && exec "$0" --input-type=module -e "$1"`;
  return execFileSync("unshare", ["--net", "sh", "-c", run, process.execPath, script], { encoding: "utf8" });
}
