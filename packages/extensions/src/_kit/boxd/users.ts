import { concatenate, type Files, SandboxerError, type Users } from "@sandboxer/contract";

const PASSWD = "/etc/passwd";
const ORDINARY = "user";
const HOME = "/home/user";

/**
 * More users for a sandbox, as lines of its own passwd file: boxd acts as whoever is in it. Root
 * inside writes them, so that nothing else can; without a root there is only one user.
 */
export function openUsers(files: Files): Users {
  let last: Promise<unknown> = Promise.resolve();
  const admit = async (uid: number): Promise<string> => {
    const name = `guest${uid}`;
    const text = new TextDecoder().decode(await readAll(files));
    const lines = text.split("\n").map((line) => line.split(":"));
    if (lines.some(([known]) => known === name)) return name;
    const home = lines.find(([known]) => known === ORDINARY)?.[5] || HOME;
    const line = `${text === "" || text.endsWith("\n") ? "" : "\n"}${name}:x:${uid}:${uid}::${home}:/bin/sh\n`;
    await files.write(PASSWD, [new TextEncoder().encode(line)], { append: true, user: "root" });
    return name;
  };
  return {
    admit(uid) {
      // One after the other: two that read the same would both write.
      const admitted = last.catch(() => {}).then(() => admit(uid));
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
