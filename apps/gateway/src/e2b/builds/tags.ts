import type { Principal } from "@sandboxer/contract";
import { z } from "zod";
import type { Built } from "./built.ts";
import { openKeptFile } from "./kept-file.ts";

/** By `<org> <profile>:<tag>`; `null` where it was taken away. */
const versionSchema = z.int().positive().nullable();

/** Which tag means which version: what builds said, and what was said afterwards, which is kept here. */
export interface Tags {
  /** Of the versions of one template, oldest first. */
  of(principal: Principal, versions: readonly Built[]): Map<string, Built>;
  set(principal: Principal, built: Pick<Built, "name">, tag: string, version: number | null): void;
}

export function openTags(file: string): Tags {
  const { all: kept, write } = openKeptFile(file, versionSchema);
  return {
    of({ orgId }, versions) {
      const found = new Map<string, Built>();
      for (const built of versions) {
        for (const tag of (built.resolved.labels?.["e2b.tags"] ?? "").split(",")) {
          if (tag !== "") found.set(tag, built);
        }
      }
      const prefix = `${orgId} ${versions[0]?.name}:`;
      for (const [key, version] of kept) {
        if (!key.startsWith(prefix)) continue;
        const built = versions.find((one) => one.version === version);
        if (built) found.set(key.slice(prefix.length), built);
        else found.delete(key.slice(prefix.length));
      }
      return found;
    },
    set({ orgId }, { name }, tag, version) {
      kept.set(`${orgId} ${name}:${tag}`, version);
      write();
    },
  };
}
