import { expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { interpreting } from "./interpreting.ts";

const { describe } = await requires("linux-userns", "boxd");

describe("what E2B's clients ask for at once", () => {
  const at = interpreting();

  it("gives a language one context, whoever asks for it first", async () => {
    const names = ["x", "y", "z"];
    await Promise.all(names.map((name) => at.sandbox.runCode(`${name}=${name}`, { language: "bash" })));
    expect((await at.sandbox.runCode("echo $x$y$z", { language: "bash" })).logs.stdout).toEqual(["xyz\n"]);
  });

  it("keeps nothing of a context that cannot begin", async () => {
    const before = await at.sandbox.listCodeContexts();
    await expect(at.sandbox.createCodeContext({ cwd: "/no/such/folder" })).rejects.toThrow();
    expect(await at.sandbox.listCodeContexts()).toEqual(before);
  });

  it("removes a context once, and no other one", async () => {
    const [one, other] = [await at.sandbox.createCodeContext(), await at.sandbox.createCodeContext()];
    await at.changeGateway();
    const removed = await Promise.allSettled([1, 2, 3].map(() => at.sandbox.removeCodeContext(one)));
    expect(removed.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const left = (await at.sandbox.listCodeContexts()).map(({ id }) => id);
    expect(left).toContain(other.id);
    expect(left).not.toContain(one.id);
  });

  it("opens no more watchers than there may be", async () => {
    const { envdAccessToken: token } = at.sandbox as unknown as { readonly envdAccessToken: string };
    const headers = {
      "e2b-sandbox-id": at.sandbox.sandboxId,
      "x-access-token": token,
      "content-type": "application/json",
    };
    const asked = { method: "POST", headers, body: JSON.stringify({ path: "/tmp" }) };
    const url = `${at.door.url}/filesystem.Filesystem/CreateWatcher`;
    const answers = await Promise.all(Array.from({ length: 100 }, () => fetch(url, asked)));
    expect(answers.filter(({ ok }) => ok)).toHaveLength(64);
  });
});
