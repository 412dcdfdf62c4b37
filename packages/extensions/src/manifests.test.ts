import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Extension, facetProblems, manifestSchema } from "@sandboxer/contract";
import { expect, it, onTestFinished } from "vitest";
import { createDockerExtension } from "./docker/index.ts";
import { createLocalExtension } from "./local/index.ts";

/** Every one that an installation makes, as it makes them: core does not check these at each start. */
function builtIn(): Extension[] {
  const home = mkdtempSync(join(tmpdir(), "sandboxer-manifests-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return [
    createLocalExtension({ dir: join(home, "engine"), home }),
    createDockerExtension({ dir: join(home, "docker"), home }),
    createDockerExtension({ dir: join(home, "docker-gvisor"), home, runtime: "runsc" }),
  ];
}

it("says what is true of each built-in extension in a manifest that is one", () => {
  for (const extension of builtIn()) {
    const { success, error } = manifestSchema.safeParse(extension.manifest);
    expect([extension.manifest.id, success, error?.issues ?? []]).toEqual([extension.manifest.id, true, []]);
    expect(facetProblems(extension)).toEqual([]);
    expect(manifestSchema.safeParse({ ...extension.manifest, schema: 2 }).success, "control").toBe(false);
  }
});
