import { type Files, SandboxerError } from "@sandboxer/contract";
import { expect, it } from "vitest";
import { openUsers } from "./users.ts";

/** A passwd file and nothing else, with a root or without. */
function passwdOf(text: string, hasRoot = true) {
  const kept = { text, writes: 0 };
  const asRoot = (user: string | undefined) => {
    expect(user).toBe("root");
    if (!hasRoot) throw new SandboxerError("no_such_user", "one user only");
  };
  const files = {
    async read(_: string, options: { user?: string } = {}) {
      asRoot(options.user);
      const bytes = new TextEncoder().encode(kept.text);
      return {
        size: bytes.length,
        mode: 0o644,
        mtimeMs: 0,
        data: (async function* () {
          yield bytes;
        })(),
      };
    },
    async write(_: string, source: Iterable<Uint8Array>, options: { user?: string; append?: boolean } = {}) {
      asRoot(options.user);
      expect(options.append).toBe(true);
      kept.writes++;
      for (const part of source) kept.text += new TextDecoder().decode(part);
      return 0;
    },
  } as unknown as Files;
  const shared: string[] = [];
  return { kept, shared, users: openUsers(files, async (path) => shared.push(path)) };
}

it("adds each user once, however many ask, in the ordinary user's home and on a line of its own", async () => {
  const { kept, users } = passwdOf("root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/work:/bin/sh");
  const names = await Promise.all([20_001, 20_001, 20_002, 20_001].map((uid) => users.admit(uid)));
  expect(names).toEqual(["guest20001", "guest20001", "guest20002", "guest20001"]);
  expect(kept.writes).toBe(2);
  expect(kept.text.trimEnd().split("\n").slice(2)).toEqual([
    "guest20001:x:20001:20001::/work:/bin/sh",
    "guest20002:x:20002:20002::/work:/bin/sh",
  ]);
});

it("is unsupported where there is one user only, and says what would help", async () => {
  const { users } = passwdOf("user:x:1000:1000::/home/user:/bin/sh\n", false);
  await expect(users.admit(20_001)).rejects.toMatchObject({
    code: "unsupported",
    details: { facet: "users" },
    hint: expect.stringContaining("/etc/subuid"),
  });
});

it("takes one who writes into the ordinary user's group, and opens the home for each newcomer once", async () => {
  const { kept, shared, users } = passwdOf("root:x:0:0::/root:/bin/sh\nuser:x:1000:1001::/work:/bin/sh\n");
  const writes = { writes: true };
  const names = [await users.admit(20_001, writes), await users.admit(20_001, writes)];
  expect([...names, await users.admit(20_002, writes)]).toEqual(["agent20001", "agent20001", "agent20002"]);
  expect(kept.text).toContain("\nagent20001:x:20001:1001::/work:/bin/sh\n");
  expect(shared).toEqual(["/work", "/work"]);
});
