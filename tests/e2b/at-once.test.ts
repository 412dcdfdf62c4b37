import { Sandbox } from "@e2b/code-interpreter";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { type Door, openDoor } from "./door.ts";

const { describe } = await requires("linux-userns", "boxd");

describe("what E2B's clients ask for at once", () => {
  let door: Door;
  let sandbox: Sandbox;

  beforeAll(async () => {
    door = await openDoor();
    sandbox = await Sandbox.create(door.options);
  });
  afterAll(async () => {
    await sandbox?.kill();
    await door?.close();
  });

  it("gives a language one context, whoever asks for it first", async () => {
    const names = ["x", "y", "z"];
    await Promise.all(names.map((name) => sandbox.runCode(`${name}=${name}`, { language: "bash" })));
    expect((await sandbox.runCode("echo $x$y$z", { language: "bash" })).logs.stdout).toEqual(["xyz\n"]);
  });

  it("keeps nothing of a context that cannot begin", async () => {
    const before = await sandbox.listCodeContexts();
    await expect(sandbox.createCodeContext({ cwd: "/no/such/folder" })).rejects.toThrow();
    expect(await sandbox.listCodeContexts()).toEqual(before);
  });

  it("removes a context once, and no other one", async () => {
    const [one, other] = [await sandbox.createCodeContext(), await sandbox.createCodeContext()];
    await door.gateway.close();
    door = await openDoor(door.home);
    sandbox = await Sandbox.connect(sandbox.sandboxId, door.options);
    const removed = await Promise.allSettled([1, 2, 3].map(() => sandbox.removeCodeContext(one)));
    expect(removed.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const left = (await sandbox.listCodeContexts()).map(({ id }) => id);
    expect(left).toContain(other.id);
    expect(left).not.toContain(one.id);
  });

  it("opens no more watchers than there may be", async () => {
    const { envdAccessToken: token } = sandbox as unknown as { readonly envdAccessToken: string };
    const headers = {
      "e2b-sandbox-id": sandbox.sandboxId,
      "x-access-token": token,
      "content-type": "application/json",
    };
    const asked = { method: "POST", headers, body: JSON.stringify({ path: "/tmp" }) };
    const url = `${door.url}/filesystem.Filesystem/CreateWatcher`;
    const answers = await Promise.all(Array.from({ length: 100 }, () => fetch(url, asked)));
    expect(answers.filter(({ ok }) => ok)).toHaveLength(64);
  });
});
