import { type AsUser, type Attachment, type Box, type Files, SandboxerError } from "@sandboxer/contract";
import { demand } from "../facet.ts";

/**
 * The user that an attachment acts as inside, where it has an id of its own: a read-only one owns
 * nothing there. Where the sandbox cannot tell users apart that is a refusal, never less.
 */
export async function userOf({ access, uid }: Attachment, box: Box): Promise<string | undefined> {
  if (uid === undefined) return undefined;
  return demand("users", box.users).admit(uid, { writes: access === "read-write" });
}

/** The user asked for, where the attachment leaves a choice. */
export function actAs(own: string | undefined, asked: string | undefined): { user?: string } {
  if (own !== undefined && asked !== undefined && asked !== own) {
    deny(`this attachment acts as ${own} and as nobody else`);
  }
  const user = own ?? asked;
  return user === undefined ? {} : { user };
}

/** Files as the attachment's own user sees them, and as nobody else. */
export function filesAs(files: Files, own: string): Files {
  const as = <T extends AsUser>(options: T | undefined) =>
    ({ ...options, ...actAs(own, options?.user) }) as T;
  return {
    read: async (path, options) => files.read(path, as(options)),
    stat: async (path, options) => files.stat(path, as(options)),
    list: async (path, options) => files.list(path, as(options)),
    xattrs: async (path, options) => files.xattrs(path, as(options)),
    watch: async (path, options) => files.watch(path, as(options)),
    pack: async (path, options) => files.pack(path, as(options)),
    write: async (path, source, options) => files.write(path, source, as(options)),
    mkdir: async (path, options) => files.mkdir(path, as(options)),
    move: async (from, to, options) => files.move(from, to, as(options)),
    remove: async (path, options) => files.remove(path, as(options)),
    chmod: async (path, mode, options) => files.chmod(path, mode, as(options)),
    symlink: async (path, target, options) => files.symlink(path, target, as(options)),
    setXattr: async (path, name, value, options) => files.setXattr(path, name, value, as(options)),
    removeXattr: async (path, name, options) => files.removeXattr(path, name, as(options)),
    unpack: async (path, source, options) => files.unpack(path, source, as(options)),
  };
}

/** What changes nothing, as the attachment's own user. */
export function readOnlyFiles(files: Files, own: string): Files {
  const refuse = async (): Promise<never> => deny("this attachment is read-only");
  return {
    ...filesAs(files, own),
    write: refuse,
    mkdir: refuse,
    move: refuse,
    remove: refuse,
    chmod: refuse,
    symlink: refuse,
    setXattr: refuse,
    removeXattr: refuse,
    unpack: refuse,
  };
}

/** Input and signals change what runs, and so does a connection to it. */
export function refuseReadOnly({ access }: Attachment, what: string): void {
  if (access === "read-only") deny(`this attachment is read-only and may not ${what}`);
}

function deny(message: string): never {
  throw new SandboxerError("policy_denied", message, { details: { rule: "attachment.access" } });
}
