import { renameSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { openGateway } from "@sandboxer/gateway";
import { expect, it, onTestFinished } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { expectNothingLeft, makeHome } from "./home.ts";

const { describe } = await requires("linux-userns", "boxd");

describe("a sandbox that is being stopped and does not answer any more", () => {
  it("I4 is not taken for gone while hold still has it: its files would go with it", async () => {
    const home = makeHome(onTestFinished);
    const open = () => openGateway({ home, listen: false, log: () => {} });
    const first = await open();
    const principal = await first.core.authenticate(first.apiKey);
    const { id } = await first.core.create(principal, { persistence: "persistent", ttlMs: 60_000 });
    await first.close();

    // As for the moment between the end of its first process and hold's word that it is stopped.
    const socket = join(home, "engine/boxes", id, "box.sock");
    renameSync(socket, `${socket}.away`);
    const { core, close } = await open();
    await expect(core.exec(principal, id, { argv: ["true"] })).rejects.toMatchObject({
      code: "extension_failed",
    });
    expect((await core.get(principal, id)).state).toBe("running");

    renameSync(`${socket}.away`, socket);
    const process = await core.exec(principal, id, { argv: ["true"] });
    for await (const event of process.events) {
      if (event.type === "exit") expect(event.exit, "control").toEqual({ kind: "exited", code: 0 });
    }
    await core.destroy(principal, id);
    await close();
    await expectNothingLeft(home);
  });

  it("I4 is not taken for gone while it is started again, whoever asks what it uses", async () => {
    const home = makeHome(onTestFinished);
    const { core, apiKey, close } = await openGateway({ home, listen: false, log: () => {} });
    const principal = await core.authenticate(apiKey);
    const { id } = await core.create(principal, { persistence: "persistent", ttlMs: 60_000 });
    const answers = new Set<string>();
    for (let turn = 0; turn < 5; turn++) {
      await core.stop(principal, id);
      let isUnderWay = true;
      const starting = core.resume(principal, id).finally(() => {
        isUnderWay = false;
      });
      while (isUnderWay) {
        await setImmediate();
        await core.metrics(principal, id).then(
          () => answers.add("told"),
          ({ code }) => answers.add(code),
        );
      }
      await starting.catch(() => {});
      expect((await core.get(principal, id)).state, [...answers].join()).toBe("running");
    }
    expect(answers, "control").toContain("invalid_state");
    expect(answers).not.toContain("sandbox_gone");
    await core.destroy(principal, id);
    await close();
    await expectNothingLeft(home);
  });
});
