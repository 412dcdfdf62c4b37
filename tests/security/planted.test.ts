import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { bundleFor, inOneFile } from "../guest/bundle.ts";
import { inGuest } from "../guest/in-guest.ts";
import type { Check } from "./posture/check.ts";

const { describe, given } = await requires("qemu", "boxd", "probe");

const ENDS_WITHIN_MS = 600_000;

/** What is wrong with a planted process, and the checks that must name it, and no other. */
const FAULTS: Record<string, Check[]> = {
  none: [],
  "capability=all": ["capabilities"],
  "capability=sys_admin": ["capabilities"],
  "capability=sys_module": ["capabilities"],
  "capability=dac_read_search": ["capabilities"],
  "namespace=pid": ["namespaces"],
  "namespace=net": ["namespaces"],
  "namespace=ipc": ["namespaces"],
  "namespace=uts": ["namespaces"],
  "namespace=cgroup": ["namespaces"],
  "namespace=mnt": ["namespaces", "mounts"],
  "namespace=user": ["namespaces", "id-map", "users", "groups"],
  "new-privileges": ["new-privileges"],
  "no-filter": ["filter"],
  group: ["groups"],
  descriptor: ["descriptors"],
  "core-dumps": ["limits"],
  "variable=hunter2": ["environment"],
};

const RED: Record<string, Check[]> = {
  ...FAULTS,
  "terminal=own": [],
  "terminal=host": ["terminal"],
  ...Object.fromEntries(Object.entries(FAULTS).map(([fault, checks]) => [`${fault}, resumed`, checks])),
  "a writable folder of the host": ["mounts"],
  "a control socket in reach": ["mounts"],
  "a cgroup file system": ["mounts"],
};

describe("PO-2 planted faults, in a machine of their own", () => {
  const found = new Map<string, { checks: Check[]; says?: string }>();
  let whole = "";

  beforeAll(async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "sandboxer-bundle-"));
    const program = await bundleFor(new URL("plant-in-cage.ts", import.meta.url), folder.path);
    const result = await inGuest(given.qemu, {
      files: { boxd: given.boxd.path, probe: given.probe.path, "plant.mjs": program },
      script: `${inOneFile("plant.mjs")} ./boxd ./probe ${Object.keys(FAULTS).join(" ")}`,
      memoryMiB: 768,
      endsWithinMs: ENDS_WITHIN_MS,
    });
    whole = result.report + result.console;
    for (const line of result.report.split("\n").filter((text) => text.startsWith("{"))) {
      const { name, ...finding } = JSON.parse(line);
      found.set(name, finding);
    }
  }, ENDS_WITHIN_MS + 60_000);

  for (const [name, checks] of Object.entries(RED)) {
    it(checks.length > 0 ? `${name} turns ${checks.join(", ")} red` : `control: ${name} is green`, () => {
      expect(found.get(name)?.checks, found.get(name)?.says ?? whole).toEqual([...checks].sort());
    });
  }
});
