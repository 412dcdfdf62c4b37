import { access, constants } from "node:fs/promises";
import type { Finding } from "@sandboxer/contract";

const PROGRAMS = ["/usr/sbin/mke2fs", "/sbin/mke2fs", "/usr/bin/mke2fs", "/bin/mke2fs"];

/** What sandboxes that are stopped are kept on. */
export async function findKeeping(): Promise<Finding> {
  const id = "local.keeping";
  if (process.getuid?.() !== 0) {
    return { id, ok: true, message: "stopped sandboxes are kept in folders of this user, of any size" };
  }
  const found = await Promise.all(
    PROGRAMS.map((path) =>
      access(path, constants.X_OK).then(
        () => true,
        () => false,
      ),
    ),
  );
  if (found.includes(true)) {
    return { id, ok: true, message: "stopped sandboxes are kept on disks of their size, with a journal" };
  }
  return {
    id,
    ok: false,
    message: "disks of sandboxes have no size: mke2fs is not installed",
    fix: "Install e2fsprogs.",
  };
}
