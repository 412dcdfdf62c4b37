import { mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ETC } from "../etc.ts";
import type { Aside } from "./aside.ts";

/** Raised whenever what is in it changes, so that an older one is not used. */
const VERSION = 1;

/** What container engines put over every image: the names of this machine, which no image can know. */
const FILES = ["hosts", "hostname"];

/** A layer of our own above every image. Made once, aside. */
export async function prepareTrimmings(dir: string, aside: Aside): Promise<string> {
  const place = join(dir, `trimmings-${VERSION}`);
  if (await stat(place).catch(() => undefined)) return place;
  try {
    await aside.place(place, async (draft) => {
      await mkdir(join(draft, "etc"), { recursive: true, mode: 0o755 });
      for (const name of FILES) await writeFile(join(draft, "etc", name), ETC[name] ?? "", { mode: 0o644 });
    });
  } catch (error) {
    // Another process may have been faster; its layer is the same.
    if (!(await stat(place).catch(() => undefined))) throw error;
  }
  return place;
}
