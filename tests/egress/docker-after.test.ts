import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { importTestImage, TEST_IMAGE } from "../conformance/docker-image.ts";
import type { Bench } from "./lab/sandbox.ts";
import { HOLDS, openWard, standAfterKill, standOf, WARD } from "./lab/ward.ts";

const { describe, given } = await requires("docker", "linux-userns", "boxd", "egress-lab");

vi.setConfig({ testTimeout: 180_000, hookTimeout: 300_000 });

describe("EG-1 EG-14 SE-2 all that a guard is for, in a container", () => {
  let bench: Bench;
  let sandbox: Sandbox;
  beforeAll(async () => {
    await importTestImage(given.docker);
    const image = { kind: "oci" as const, ref: TEST_IMAGE };
    ({ bench, sandbox } = await openWard(
      { image, extensions: ["docker"] },
      { DOCKER_HOST: given.docker.host },
    ));
  });
  afterAll(() => bench.close());

  it("holds to begin with (control)", async () => {
    expect(sandbox.info.location?.extensionId).toBe("docker");
    expect(await standOf(bench, sandbox)).toEqual(HOLDS);
  });

  it("is not paused, forked or taken a picture of: each is refused, and it holds as before", async () => {
    for (const verb of ["pause", "fork", "snapshot", "stop"] as const) {
      await expect(sandbox[verb](), verb).rejects.toMatchObject({ code: "unsupported" });
    }
    expect((await sandbox.refresh()).state).toBe("running");
    expect(await standOf(bench, sandbox)).toEqual(HOLDS);
  });

  it("is not what another backend's snapshot is restored to, and none is made for it", async () => {
    const local = await bench.sandbox(WARD, { secrets: ["MODEL_KEY"] });
    const { id } = await local.snapshot();
    const restored = bench.client.sandboxes.create({
      ...{ from: id, network: WARD, secrets: ["MODEL_KEY"], extensions: ["docker"] },
    });
    await expect(restored).rejects.toMatchObject({ code: "no_candidate" });
    await local.destroy();
  });

  it("EG-20 holds again once a killed guard is back", async () => {
    expect(await standAfterKill(bench, sandbox)).toEqual(HOLDS);
  });

  it("holds after a restart of the gateway, with the rules that it had last", async () => {
    await sandbox.changeNetwork({ ...WARD, rules: [{ host: "late.test" }] });
    await bench.gateway.close();
    const again = await (await bench.reopen()).sandboxes.get(sandbox.id);
    const first = await standOf(bench, again);
    expect(first.inside).toMatchObject({
      allowed: "",
      "the key in its cell": "no rule allows model.test:443",
      "before its rule": HOLDS.inside["with its rule"],
    });
    expect(await standOf(bench, again), "and changed since").toEqual(HOLDS);
  });
});
