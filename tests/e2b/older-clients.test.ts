import { Buffer } from "node:buffer";
import { createClient } from "@sandboxer/sdk";
import { Sandbox } from "e2b";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { type Door, openDoor } from "./door.ts";

const { describe } = await requires("linux-userns", "boxd");

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

interface Frame {
  readonly event?: { readonly keepalive?: object; readonly end?: object };
  readonly keepalive?: object;
  readonly filesystem?: { readonly name: string };
}

/** The messages of one of Connect's streams, as they come. */
async function* framesOf(answer: Response): AsyncGenerator<Frame> {
  let held = Buffer.alloc(0);
  for await (const part of answer.body ?? []) {
    held = Buffer.concat([held, part]);
    while (held.length >= 5 && held.length >= 5 + held.readUInt32BE(1)) {
      const end = 5 + held.readUInt32BE(1);
      yield JSON.parse(held.subarray(5, end).toString("utf8"));
      held = held.subarray(end);
    }
  }
}

describe("what today's E2B client does not ask, and older ones and its command line do", () => {
  let door: Door;
  let sandbox: Sandbox;

  const ask = async (method: string, path: string, body?: object) => {
    const headers = { "x-api-key": door.options.apiKey ?? "", "content-type": "application/json" };
    const answer = await fetch(`${door.url}${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, json: text === "" ? undefined : JSON.parse(text) };
  };
  const stream = async (path: string, message: object, interval: string, signal: AbortSignal) => {
    const text = Buffer.from(JSON.stringify(message));
    const head = Buffer.alloc(5);
    head.writeUInt32BE(text.length, 1);
    const { core, apiKey } = door.gateway;
    return fetch(`${door.url}${path}`, {
      method: "POST",
      signal,
      headers: {
        "e2b-sandbox-id": sandbox.sandboxId,
        "x-access-token": await core.openAccess(await core.authenticate(apiKey), sandbox.sandboxId),
        "content-type": "application/connect+json",
        "keepalive-ping-interval": interval,
      },
      body: Buffer.concat([head, text]),
    });
  };

  beforeAll(async () => {
    door = await openDoor();
    sandbox = await Sandbox.create("base", door.options);
  });
  afterAll(async () => {
    await sandbox?.kill();
    await door?.close();
  });

  it("makes, finds, wakes and keeps sandboxes by the paths without a version", async () => {
    const made = await ask("POST", "/sandboxes", {
      templateID: "base",
      timeout: 120,
      metadata: { old: "1" },
    });
    expect(made).toMatchObject({
      status: 201,
      json: { templateID: "base", envdAccessToken: expect.any(String) },
    });
    const path = `/sandboxes/${made.json.sandboxID}`;
    expect(
      (await ask("GET", "/sandboxes")).json.map(({ sandboxID }: { sandboxID: string }) => sandboxID),
    ).toEqual(expect.arrayContaining([made.json.sandboxID, sandbox.sandboxId]));
    expect((await ask("POST", `${path}/connect`, { timeout: 60 })).status).toBe(200);
    expect(await ask("POST", `${path}/resume`, { timeout: 60 })).toMatchObject({
      status: 409,
      json: { code: 409, message: expect.stringContaining("already running") },
    });
    expect((await ask("POST", `${path}/pause`, {})).status).toBe(204);
    expect((await ask("POST", `${path}/pause`, {})).json).toMatchObject({ code: 409 });
    expect((await ask("POST", `${path}/resume`, { timeout: 60 })).status).toBe(201);
    const endOf = async () => Date.parse((await ask("GET", path)).json.endAt);
    const before = await endOf();
    expect((await ask("POST", `${path}/refreshes`, { duration: 3_000 })).status).toBe(204);
    expect(await endOf()).toBeGreaterThan(before);
    expect((await ask("DELETE", path)).status).toBe(204);
    expect((await ask("DELETE", path)).json).toMatchObject({ code: 404 });
  });

  it("tells which templates there are", async () => {
    const client = createClient({ url: door.url, apiKey: door.gateway.apiKey });
    await client.profiles.publish({ schema: 1, name: "listed", resources: { cpus: 1 } });
    const listed = { templateID: "listed", aliases: ["listed"], buildStatus: "ready", cpuCount: 1 };
    for (const path of ["/templates", "/v2/templates"]) {
      const { status, json } = await ask("GET", path);
      expect({ status, json }, path).toEqual({
        status: 200,
        json: expect.arrayContaining([expect.objectContaining(listed)]),
      });
    }
  });

  it("says in silent streams that it is there, as often as it is asked to", async () => {
    const leave = new AbortController();
    const sleeping = { process: { cmd: "/bin/sleep", args: ["600"] } };
    const ran = await stream("/process.Process/Start", sleeping, "1", leave.signal);
    for await (const { event } of framesOf(ran)) if (event?.keepalive) break;
    const watched = await stream("/filesystem.Filesystem/WatchDir", { path: "." }, "1", leave.signal);
    for await (const { keepalive } of framesOf(watched)) if (keepalive) break;
    leave.abort();
  });

  it.each(["0", "-1", "soon", "99999999999"])("takes %s for no interval", async (interval) => {
    const leave = new AbortController();
    const watched = await stream("/filesystem.Filesystem/WatchDir", { path: "." }, interval, leave.signal);
    // Long enough for hundreds, were one said in every turn.
    setTimeout(() => void sandbox.files.write("seen", interval).catch(() => {}), 500);
    const said: Frame[] = [];
    for await (const frame of framesOf(watched)) {
      said.push(frame);
      if (frame.filesystem) break;
    }
    leave.abort();
    expect(said.filter(({ keepalive }) => keepalive)).toEqual([]);
  });
});
