import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { conformance, type Subject } from "@sandboxer/contract/conformance";
import { openGateway } from "@sandboxer/gateway";
import { createClient } from "@sandboxer/sdk";
import { requires } from "../capabilities/requires.ts";
import { removeEngine } from "./remove-engine.ts";

const { describe } = await requires("linux-userns", "boxd");

/** Ring three: over HTTP, with the SDK, as a user has it. */
async function openThroughGateway(): Promise<Subject> {
  const home = await mkdtemp(join(tmpdir(), "sandboxer-gateway-"));
  const gateway = await openGateway({ home, listen: { host: "127.0.0.1", port: 0 }, log: () => {} });
  const client = createClient({ url: gateway.url ?? "", apiKey: gateway.apiKey });
  return {
    create: (input = {}) => client.sandboxes.create({ ttlMs: 900_000, ...input }),
    async list() {
      const { sandboxes } = await client.sandboxes.list({ states: ["running", "paused"], limit: 200 });
      return sandboxes.map(({ id }) => id);
    },
    async destroy(id) {
      await (await client.sandboxes.get(id)).destroy();
    },
    async close() {
      await gateway.close();
      await removeEngine(join(home, "engine"), home);
    },
  };
}

describe("ring three", () => conformance("local, through gateway and SDK", openThroughGateway));
