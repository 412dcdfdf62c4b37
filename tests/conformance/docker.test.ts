import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { conformance, type ExpectedRefusal, type Subject } from "@sandboxer/contract/conformance";
import { CASES } from "@sandboxer/contract/conformance/cases";
import { createDockerExtension } from "@sandboxer/extensions/docker";
import { openGateway } from "@sandboxer/gateway";
import { createClient } from "@sandboxer/sdk";
import { beforeAll } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { directSubject } from "./direct.ts";
import { importTestImage, TEST_IMAGE } from "./docker-image.ts";
import { removeEngine } from "./remove-engine.ts";

const { describe, given } = await requires("docker", "boxd");
const image = { kind: "oci", ref: TEST_IMAGE } as const;

async function openDirectly(): Promise<Subject> {
  const dir = await mkdtemp(join(tmpdir(), "sandboxer-docker-"));
  const socketPath = given.docker.host.replace("unix://", "");
  const subject = directSubject(createDockerExtension({ dir, socketPath }), image);
  return {
    ...subject,
    async close() {
      await subject.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

async function openThroughGateway(): Promise<Subject> {
  const home = await mkdtemp(join(tmpdir(), "sandboxer-docker-"));
  process.env.DOCKER_HOST = given.docker.host;
  const gateway = await openGateway({ home, listen: { host: "127.0.0.1", port: 0 }, log: () => {} });
  const client = createClient({ url: gateway.url ?? "", apiKey: gateway.apiKey });
  return {
    create: (input = {}) =>
      client.sandboxes.create({ ttlMs: 900_000, image, extensions: ["docker"], ...input }),
    async list() {
      const { sandboxes } = await client.sandboxes.list({ states: ["running"], limit: 200 });
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

const noPause = { code: "unsupported", reason: "a frozen container cannot end itself on time" } as const;
const noStop = { code: "no_candidate", reason: "a container's end is the end of its files" } as const;
const pauses = (CASES.pause ?? []).map(({ name }) => [name, noPause] as const);
const stops = (CASES.stop ?? []).map(({ name }) => name);
/** Asked directly the facet is not there; through the waist no route leads to it. */
const refusals = (stop: ExpectedRefusal) =>
  Object.fromEntries([...pauses, ...stops.map((name) => [name, stop] as const)]);

describe("the second way out", () => {
  beforeAll(() => importTestImage(given.docker));
  conformance("docker, directly", openDirectly, refusals({ ...noStop, code: "unsupported" }));
  conformance("docker, through gateway and SDK", openThroughGateway, refusals(noStop));
});
