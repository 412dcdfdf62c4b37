import { readFileSync, readlinkSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Box,
  collect,
  type Extension,
  execRequestSchema,
  newRowId,
  newSandboxId,
} from "@sandboxer/contract";
import { createLocalExtension } from "@sandboxer/extensions/local";
import { afterAll, beforeAll, expect, it } from "vitest";
import { readOrNothing } from "../capabilities/processes.ts";
import { requires } from "../capabilities/requires.ts";
import { PLAIN_SPEC } from "../conformance/direct.ts";
import { removeEngine } from "../conformance/remove-engine.ts";
import { initPidOf, namespacesOf, processesIn } from "./host-view.ts";

const { describe } = await requires("linux-userns", "boxd");

const context = { installationId: newRowId("ins"), orgId: newRowId("org") };
const PTY = { cols: 80, rows: 24 };

describe("terminals", () => {
  let dir: string;
  let extension: Extension;
  let box: Box;
  const start = (argv: string[]) => box.exec(execRequestSchema.parse({ argv, stdin: true, pty: PTY }), "att");

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "sandboxer-terminals-"));
    extension = createLocalExtension({ dir });
    box = await extension.create(PLAIN_SPEC, { ...context, sandboxId: newSandboxId() });
  });
  afterAll(async () => {
    await extension.destroy(box.ref, context);
    await extension.close();
    await removeEngine(dir);
  });

  it("NS-12 are the sandbox's own: a session of their own, on a devpts of their own", async () => {
    const process = await start(["sh", "-c", "tty; sleep 60 & wait"]);
    let shown = "";
    for await (const event of process.events) {
      if (event.type === "stdout") shown += Buffer.from(event.data).toString();
      if (shown.includes("/dev/pts/")) break;
    }
    const inside = processesIn(namespacesOf(initPidOf(dir, box.ref)).pid as string);
    const shell = inside.find((pid) => readOrNothing(`/proc/${pid}/cmdline`).startsWith("sh\0"));
    const stat = readFileSync(`/proc/${shell}/stat`, "utf8");
    const [session, terminal] = stat
      .slice(stat.lastIndexOf(")") + 2)
      .split(" ")
      .slice(3, 5)
      .map(Number);
    expect(session, "it leads its session").toBe(shell);
    expect(terminal, "it has a controlling terminal").not.toBe(0);
    // The same name on the host, if there is one, is another device of another instance.
    const theirs = readFileSync(`/proc/${shell}/mountinfo`, "utf8").split("\n");
    const ours = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
    const deviceOf = (lines: string[]) => lines.find((line) => line.includes(" - devpts "))?.split(" ")[2];
    expect(deviceOf(theirs)).toBeDefined();
    expect(deviceOf(theirs)).not.toBe(deviceOf(ours));
    expect(readlinkSync(`/proc/${shell}/fd/0`)).toMatch(/^\/dev\/pts\/\d+$|^\/\d+$/);
    await process.signal("KILL");
  });

  it("NS-12 cannot type into any terminal, its own included, whatever the host allows", async () => {
    const script = `
import fcntl
for name, request in ("TIOCSTI", 0x5412), ("TIOCLINUX", 0x541C):
  try:
    fcntl.ioctl(0, request, b"x")
    print(name, "worked")
  except OSError as error:
    print(name, error.strerror)
`;
    const { stdout, exit } = await collect(await start(["python3", "-c", script]));
    const shown = Buffer.from(stdout).toString();
    expect(exit, shown).toEqual({ kind: "exited", code: 0 });
    expect(shown).toMatch(/TIOCSTI Operation not permitted/);
    expect(shown).toMatch(/TIOCLINUX Operation not permitted/);
  });
});
