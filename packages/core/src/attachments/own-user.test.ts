import type { Attachment, Sandbox, WorkspaceMode } from "@sandboxer/contract";
import { expect, it } from "vitest";
import { hasOwnUser } from "./own-user.ts";

const sandboxWith = (mode?: WorkspaceMode) =>
  ({ spec: mode ? { workspace: { source: "/a", target: "/workspace", mode } } : {} }) as unknown as Sandbox;
const own = { uid: 20_001 } as Attachment;

it("is one's own when asked for, or when the giver is one, and never by accident", () => {
  expect(hasOwnUser(undefined, sandboxWith(), [])).toBe(false);
  expect(hasOwnUser("ordinary", sandboxWith("copy-on-write"), [])).toBe(false);
  expect(hasOwnUser("own", sandboxWith("read-only"), [])).toBe(true);
  expect(hasOwnUser(undefined, sandboxWith(), [own])).toBe(true);
});

it("is refused over a folder of the host's that it could not write", () => {
  for (const mode of ["copy-on-write", "read-write"] as const) {
    const refused = expect.objectContaining({
      code: "unsupported",
      hint: expect.stringContaining("read-only"),
    });
    expect(() => hasOwnUser("own", sandboxWith(mode), []), mode).toThrow(refused);
  }
});
