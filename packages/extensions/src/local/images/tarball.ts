import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, open, readlink, realpath } from "node:fs/promises";
import { basename, sep } from "node:path";
import { SandboxerError } from "@sandboxer/contract";
import type { Sensitive } from "../../_kit/sensitive.ts";

import type { Ground } from "./ground.ts";
import { importImage } from "./import.ts";
import type { ImageRecord } from "./shelf.ts";

/** The image that a file of the host is an archive of: taken in once, and again when the file changes. */
export async function imageOfTarball(
  ground: Ground,
  path: string,
  sensitive: Sensitive,
): Promise<ImageRecord> {
  const file = await open(path, "r").catch((cause) => {
    throw new SandboxerError("invalid_request", `the rootfs ${path} cannot be read`, { cause });
  });
  try {
    await judge(file, sensitive);
    const { dev, ino, size, mtimeNs } = await file.stat({ bigint: true });
    const version = createHash("sha256").update([dev, ino, size, mtimeNs].join(":")).digest("hex");
    const name = `tarball/${slugOf(path)}:${version.slice(0, 16)}`;
    const digest = await ground.shelf.named(name);
    const kept = digest === undefined ? undefined : await ground.shelf.get(digest);
    if (kept) return kept;
    const read = () =>
      createReadStream("", { fd: file, autoClose: false, start: 0, highWaterMark: 256 * 1024 });
    return await ground.flights.join(name, () => importImage(ground, read(), { name, kind: "rootfs" }), {});
  } finally {
    await file.close();
  }
}

/** By where the open file is, whatever led there. */
async function judge(file: FileHandle, { forbidden }: Sensitive): Promise<void> {
  const place = await readlink(`/proc/self/fd/${file.fd}`);
  for (const path of forbidden) {
    const real = await realpath(path).catch(() => path);
    if (place !== real && !place.startsWith(real + sep)) continue;
    throw new SandboxerError("policy_denied", `${place} cannot be an image: it is part of ${path}`, {
      details: { rule: "rootfs" },
      hint: "Copy it to another place first.",
    });
  }
}

/** As much of its name as a name of an image can have. */
function slugOf(path: string): string {
  const words =
    basename(path)
      .toLowerCase()
      .match(/[a-z0-9]+/g) ?? [];
  return words.join("-").slice(0, 60) || "file";
}
