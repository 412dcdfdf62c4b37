import { type Attachment, type Box, type Files, SandboxerError } from "@sandboxer/contract";
import { demand } from "../facet.ts";

/**
 * The user that an attachment acts as inside: a read-only one has an id of its own that owns
 * nothing there. Where the sandbox cannot tell users apart that is a refusal, never less.
 */
export async function userOf({ access, uid }: Attachment, box: Box): Promise<string | undefined> {
  if (access === "read-write" || uid === undefined) return undefined;
  return demand("users", box.users).admit(uid);
}

/** The user asked for, where the attachment leaves a choice. */
export function actAs(own: string | undefined, asked: string | undefined): { user?: string } {
  if (own !== undefined && asked !== undefined && asked !== own) {
    deny(`this attachment acts as ${own} and as nobody else`);
  }
  const user = own ?? asked;
  return user === undefined ? {} : { user };
}

/** What changes nothing, as the attachment's own user. */
export function readOnlyFiles(files: Files, own: string): Files {
  const refuse = async (): Promise<never> => deny("this attachment is read-only");
  return {
    read: (path, options = {}) => files.read(path, { ...options, ...actAs(own, options.user) }),
    stat: (path, options = {}) => files.stat(path, { ...options, ...actAs(own, options.user) }),
    list: (path, options = {}) => files.list(path, { ...options, ...actAs(own, options.user) }),
    xattrs: (path, options = {}) => files.xattrs(path, { ...options, ...actAs(own, options.user) }),
    watch: (path, options = {}) => files.watch(path, { ...options, ...actAs(own, options.user) }),
    pack: (path, options = {}) => files.pack(path, { ...options, ...actAs(own, options.user) }),
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
