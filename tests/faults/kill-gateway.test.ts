import { FAIL_POINTS } from "@sandboxer/core";
import { LOCAL_FAIL_POINTS } from "@sandboxer/extensions/local";
import type { Client, Sandbox } from "@sandboxer/sdk";
import { expect, it, onTestFinished, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { initPidOf } from "../security/host-view.ts";
import { rowsOf } from "./books.ts";
import { expectDeathAt, startDoomed, startGateway } from "./gateway-process.ts";
import { expectNothingLeft, kill, makeHome } from "./home.ts";

const { describe } = await requires("linux-userns", "boxd");
const { describe: withLimits } = await requires("linux-userns", "boxd", "limits");

vi.setConfig({ testTimeout: 120_000 });

const places = [...FAIL_POINTS, ...LOCAL_FAIL_POINTS];
const placesOf = (...verbs: string[]) =>
  places.filter((place) => verbs.some((verb) => place.startsWith(verb)));
const REFUSED = ["create.refused", "create.discarded", "create.failed"];
const OTHER = [
  "exec.",
  "pause.",
  "resume.",
  "stop.",
  "start.",
  // By their whole names, as kill-snapshot.test.ts has them: a new one is not tested by itself.
  ...["snapshot.drafted", "snapshot.placed", "restore.begun", "restore.done", "fork.frozen"],
  // As kill-rollback.test.ts has it.
  "rollback.done",
  // As kill-planned.test.ts has them.
  ...["claim.planned", "claim.done", "recreate.ended"],
  "attach.",
  "detach.",
  "destroy.",
  "gone.",
];
const CREATING = placesOf("create.", "local.").filter((place) => !REFUSED.includes(place));
/** The first create of a home makes the host image, aside. */
const FIRST_CREATE = "image.drafted";

/** As a client does that never heard the answer: the same request under the same word. */
const createOnce = (client: Client): Promise<Sandbox> =>
  client.sandboxes.create({ name: "one", ttlMs: 60_000, setup: [["true"]] }, { idempotencyKey: "one" });

describe("kill -9 of the gateway", () => {
  it("RE-1 leaves out no place", () => {
    const tested = [...CREATING, ...REFUSED, ...placesOf(...OTHER)];
    expect(tested.sort()).toEqual(places.sort());
  });

  it.each([...CREATING, FIRST_CREATE])(
    "RE-1 at %s leaves one sandbox for who asks again, and nothing after it",
    async (place) => {
      const home = makeHome(onTestFinished);
      const doomed = await startDoomed(home, place);
      await expectDeathAt(doomed, place, createOnce(doomed.client));

      const { client, end } = await startGateway(home);
      const unsettled = rowsOf(home).filter(
        ({ state }) => state === "provisioning" || state === "destroying",
      );
      expect(unsettled, "put right before it answers").toEqual([]);
      const sandbox = await createOnce(client);
      const { sandboxes } = await client.sandboxes.list({ states: ["running"] });
      expect(sandboxes.map(({ id }) => id)).toEqual([sandbox.id]);
      expect(new TextDecoder().decode((await sandbox.run(["echo", "hi"])).stdout)).toBe("hi\n");
      await sandbox.destroy();
      expect(await end("SIGTERM")).toBe(0);
      await expectNothingLeft(home);
    },
  );

  it.each(REFUSED)("RE-1 at %s, while it clears a refusal up, leaves nothing", async (place) => {
    const home = makeHome(onTestFinished);
    const doomed = await startDoomed(home, place);
    const refused = { image: { kind: "rootfs", path: "/no/such/folder" } } as const;
    await expectDeathAt(doomed, place, doomed.client.sandboxes.create(refused));
    const { client, end } = await startGateway(home);
    expect(rowsOf(home).map(({ state }) => state)).toEqual(["failed"]);
    expect((await client.sandboxes.list({ states: ["running"] })).sandboxes).toEqual([]);
    expect(await end("SIGTERM")).toBe(0);
    await expectNothingLeft(home);
  });

  it.each(placesOf("exec."))("RE-2 at %s leaves the sandbox to whoever comes next", async (place) => {
    const home = makeHome(onTestFinished);
    const doomed = await startDoomed(home, place);
    const { id } = await doomed.client.sandboxes.create({ ttlMs: 60_000 });
    const sandbox = await doomed.client.sandboxes.get(id);
    await expectDeathAt(doomed, place, sandbox.exec({ argv: ["sleep", "50"] }));
    const { client, end } = await startGateway(home);
    const again = await client.sandboxes.get(id);
    expect(again.info.state).toBe("running");
    expect((await again.run(["true"])).exit).toEqual({ kind: "exited", code: 0 });
    await again.destroy();
    expect(await end("SIGTERM")).toBe(0);
    await expectNothingLeft(home);
  });

  it.each(placesOf("destroy."))("RE-3 at %s ends what was to end", async (place) => {
    const home = makeHome(onTestFinished);
    const doomed = await startDoomed(home, place);
    const sandbox = await doomed.client.sandboxes.create({ ttlMs: 60_000 });
    await sandbox.exec({ argv: ["sh", "-c", "trap '' TERM; setsid sleep 50"] });
    await expectDeathAt(doomed, place, sandbox.destroy());
    const { client, end } = await startGateway(home);
    expect((await client.sandboxes.get(sandbox.id)).info.state).toBe("destroyed");
    expect(await end("SIGTERM")).toBe(0);
    await expectNothingLeft(home);
  });

  it.each(placesOf("gone."))("RE-4 at %s, on noticing a death, stops the meter once", async (place) => {
    const home = makeHome(onTestFinished);
    const doomed = await startDoomed(home, place);
    const sandbox = await doomed.client.sandboxes.create({ ttlMs: 60_000 });
    const init = initPidOf(`${home}/engine`, sandbox.id);
    kill(init, "SIGKILL");
    await expectDeathAt(doomed, place, Promise.resolve());
    const { client, end } = await startGateway(home);
    expect((await client.sandboxes.get(sandbox.id)).info.state).toBe("lost");
    expect(await end("SIGTERM")).toBe(0);
    await expectNothingLeft(home);
  });
});

withLimits("kill -9 of the gateway while it pauses", () => {
  it.each(placesOf("attach.", "detach."))(
    "RE-3 at %s leaves one attachment, and a sandbox that sleeps when nobody is there",
    async (place) => {
      const home = makeHome(onTestFinished);
      const doomed = await startDoomed(home, place);
      const { id } = await doomed.client.sandboxes.create({ ttlMs: 60_000 });
      const attach = (client: Client) =>
        client.attachments.attach({ mode: "chosen", sandbox: id }, { idempotencyKey: "one" });
      const both = async () => doomed.client.attachments.detach((await attach(doomed.client)).attachment.id);
      await expectDeathAt(doomed, place, both());
      const { client, end } = await startGateway(home);
      const { attachment } = await attach(client);
      const asked = (await client.attachments.list(id)).filter(({ implicit }) => !implicit);
      expect(asked.map((one) => one.id)).toEqual([attachment.id]);
      await client.attachments.detach(attachment.id);
      const sandbox = await client.sandboxes.get(id);
      expect(sandbox.info.state).toBe("paused");
      await sandbox.destroy();
      expect(await end("SIGTERM")).toBe(0);
      await expectNothingLeft(home);
    },
  );

  it.each(placesOf("pause.", "resume."))("RE-3 at %s leaves a sandbox whose row is true", async (place) => {
    const home = makeHome(onTestFinished);
    const doomed = await startDoomed(home, place);
    const { id } = await doomed.client.sandboxes.create({ ttlMs: 60_000 });
    const first = await doomed.client.sandboxes.get(id);
    const both = first.pause().then(() => first.resume());
    await expectDeathAt(doomed, place, both);
    const { client, end } = await startGateway(home);
    const sandbox = await client.sandboxes.get(id);
    expect(sandbox.info.state).toBe(place.startsWith("pause.") ? "paused" : "running");
    await sandbox.resume();
    expect((await sandbox.run(["true"])).exit).toEqual({ kind: "exited", code: 0 });
    await sandbox.pause();
    await sandbox.destroy();
    expect(await end("SIGTERM")).toBe(0);
    await expectNothingLeft(home);
  });
});
