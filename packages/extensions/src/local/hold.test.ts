import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { newSandboxId, SandboxerError } from "@sandboxer/contract";
import { afterEach, beforeEach, expect, it } from "vitest";
import { endProcessesOf } from "../../../../tests/capabilities/processes.ts";
import { requires } from "../../../../tests/capabilities/requires.ts";
import { findBoxd } from "../_kit/boxd/path.ts";
import { createHold, type Hold } from "./hold.ts";
import { prepareHostImage } from "./host-image.ts";
import { openAside } from "./images/aside.ts";

const { describe } = await requires("linux-userns", "boxd");

/** By then the connection for the next create lies ready. */
const READY_AFTER_MS = 100;

describe("creating through hold", () => {
  let dir: string;
  let hold: Hold;
  const gone = async () => new SandboxerError("sandbox_gone", "gone");
  const create = async (id = newSandboxId()) => {
    const root = await prepareHostImage(join(dir, "images"), openAside(join(dir, "drafts"), findBoxd()));
    const members = {
      id,
      installation: "ins",
      root,
      hostname: "sandbox",
      env: {},
      ttlMs: 60_000,
      labels: {},
    };
    return hold.create(members, gone);
  };

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), "sandboxer-hold-"));
    hold = createHold(dir, findBoxd());
  });
  afterEach(async () => {
    const { boxes } = await hold.call("list");
    for (const { id } of boxes as { id: string }[]) await hold.call("destroy", { id, graceMs: 0 });
    hold.close();
    endProcessesOf(dir);
    await rm(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  });

  it("takes the connection that was made ahead, which answers as a fresh one does", async () => {
    const first = await create();
    await sleep(READY_AFTER_MS);
    const second = await create();
    expect((await second.hello).id).not.toBe((await first.hello).id);
    await expect(second.call("processes")).resolves.toEqual({ processes: [] });
  });

  it("gives the connection made ahead back to no sandbox when the create is refused", async () => {
    const id = newSandboxId();
    await create(id);
    await sleep(READY_AFTER_MS);
    await expect(create(id)).rejects.toMatchObject({ code: "conflict" });
    await expect(create()).resolves.toBeDefined();
  });

  it("RE-4 makes the sandbox when hold was killed while the connection lay ready", async () => {
    const first = newSandboxId();
    await create(first);
    await sleep(READY_AFTER_MS);
    const { pid } = await hold.call("ping");
    process.kill(Number(pid), "SIGKILL");
    const id = newSandboxId();
    const connection = await create(id);
    expect((await connection.hello).id).toBe(id);
    const { boxes } = await hold.call("list");
    expect((boxes as { id: string }[]).map((box) => box.id).sort()).toEqual([first, id].sort());
  });

  it("starts no hold once it is closed", async () => {
    const other = createHold(join(dir, "other"), findBoxd());
    await other.call("list");
    other.close();
    endProcessesOf(join(dir, "other"));
    // Soon it knows that its connection is over.
    const outcome = () =>
      other.call("list").then(
        () => "answered",
        ({ code }) => code,
      );
    await expect.poll(outcome).toBe("extension_failed");
    expect(await other.isThere()).toBe(false);
  });
});
