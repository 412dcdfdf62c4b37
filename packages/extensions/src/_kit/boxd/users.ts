import { concatenate, type Files, SandboxerError, type Users } from "@sandboxer/contract";

const PASSWD = "/etc/passwd";
const ORDINARY = "user";
const ID = "1000";
const HOME = "/home/user";

/**
 * More users for a sandbox, as lines of its own passwd file: boxd acts as whoever is in it. Root
 * inside writes them, so that nothing else can; without a root there is only one user.
 */
export function openUsers(files: Files, share: (path: string) => Promise<unknown>): Users {
  let last: Promise<unknown> = Promise.resolve();
  const shared = new Set<number>();
  const admit = async (uid: number, writes: boolean): Promise<string> => {
    const name = `${writes ? "agent" : "guest"}${uid}`;
    const text = new TextDecoder().decode(await readAll(files));
    const lines = text.split("\n").map((line) => line.split(":"));
    const ordinary = lines.find(([known]) => known === ORDINARY) ?? lines.find((line) => line[2] === ID);
    const home = ordinary?.[5] || HOME;
    if (!lines.some(([known]) => known === name)) {
      const gid = writes ? (ordinary?.[3] ?? ID) : uid;
      const line = `${text === "" || text.endsWith("\n") ? "" : "\n"}${name}:x:${uid}:${gid}::${home}:/bin/sh\n`;
      await files.write(PASSWD, [new TextEncoder().encode(line)], { append: true, user: "root" });
    }
    // Each newcomer finds open what those before it made by now.
    if (writes && !shared.has(uid)) await share(home);
    shared.add(uid);
    return name;
  };
  return {
    admit(uid, { writes = false } = {}) {
      // One after the other: two that read the same would both write.
      const admitted = last.catch(() => {}).then(() => admit(uid, writes));
      last = admitted;
      return admitted.catch(refuseWithoutRoot);
    },
  };
}

async function readAll(files: Files): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const part of (await files.read(PASSWD, { user: "root" })).data) parts.push(part);
  return concatenate(parts);
}

function refuseWithoutRoot(error: unknown): never {
  if (!SandboxerError.is(error)) throw error;
  if (error.code === "permission_denied") {
    throw new SandboxerError("unsupported", "root is denied in this sandbox, and only root can add a user", {
      details: { facet: "users" },
      hint: "Create the sandbox with `root` allowed.",
      cause: error,
    });
  }
  if (error.code !== "no_such_user") throw error;
  throw new SandboxerError("unsupported", "this sandbox has one user only, and cannot tell others from it", {
    details: { facet: "users" },
    hint: "Run the gateway as root, or give its user a range in /etc/subuid.",
    cause: error,
  });
}
