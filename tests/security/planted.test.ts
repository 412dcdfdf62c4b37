import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import type { Box } from "@sandboxer/contract";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { type Engine, openEngine, withFolder } from "./engine.ts";
import { idMapOf, initPidOf, isAsleep } from "./host-view.ts";
import { type Check, type Finding, findings } from "./posture/check.ts";
import { expectation, type Role } from "./posture/expected.ts";
import { factsOf } from "./posture/facts.ts";

const { describe, given } = await requires("linux-userns", "boxd", "probe", "root");

/**
 * Each is a process of our own (`sleep`) in a harmless sandbox, like a program in every way but one.
 * The posture checks must name that one and nothing else.
 */
const FAULTS: Record<string, Check[]> = {
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

describe("PO-2 planted faults", () => {
  let engine: Engine;
  let box: Box;

  beforeAll(async () => {
    engine = await openEngine({ boxdPath: given.boxd.path });
    box = await engine.create();
  });
  afterAll(() => engine.close());

  const plant = async (fault: string, sandbox = box, role: Role = "user"): Promise<Finding[]> => {
    const first = initPidOf(engine.dir, sandbox.ref);
    const ids = { base: idMapOf(first)[0]?.[1] ?? 0 };
    const argv = ["plant", String(first), fault, "--", "/usr/bin/sleep", "600"];
    const probe = spawn(given.probe.path, argv, { stdio: ["ignore", "pipe", "pipe"] });
    const over = once(probe, "close");
    try {
      const pid = await plantedPid(probe);
      const found = findings(factsOf(pid), expectation(role, ids, factsOf(first)));
      process.kill(pid, "SIGKILL");
      return found;
    } finally {
      await over;
    }
  };
  /** In a sandbox of its own, whose mount table it spoils. */
  const plantMount = async (source: string): Promise<Finding[]> => {
    const spoilt = await engine.create();
    try {
      return await plant(`mount=${source}`, spoilt);
    } finally {
      await engine.destroy(spoilt);
    }
  };
  const named = (found: Finding[]): Check[] => [...new Set(found.map(({ check }) => check))];

  it("control: without a fault every check is green", async () => {
    expect(await plant("none")).toEqual([]);
  });

  for (const [fault, checks] of Object.entries(FAULTS)) {
    it(`${fault} turns ${checks.join(", ")} red`, async () => {
      const found = await plant(fault);
      expect(new Set(named(found)), JSON.stringify(found)).toEqual(new Set(checks));
    });
  }

  it("control: a terminal of the sandbox's own is green", async () => {
    expect(await plant("terminal=own", box, "terminal")).toEqual([]);
  });

  it("a terminal of the host turns terminal red", async () => {
    expect(named(await plant("terminal=host", box, "terminal"))).toEqual(["terminal"]);
  });

  it("in a sandbox that was paused and resumed they are seen, too", async () => {
    const resumed = await engine.create();
    await engine.pauseAndResume(resumed);
    expect(await plant("none", resumed)).toEqual([]);
    for (const fault of [
      "capability=sys_admin",
      "no-filter",
      "new-privileges",
      "descriptor",
      "namespace=net",
    ]) {
      const found = named(await plant(fault, resumed));
      expect(new Set(found), fault).toEqual(new Set(FAULTS[fault]));
    }
    await engine.destroy(resumed);
  });

  it("a writable folder of the host turns mounts red", async () => {
    await withFolder(async (folder) => expect(named(await plantMount(folder))).toEqual(["mounts"]));
  });

  it("a control socket in reach turns mounts red", async () => {
    await withFolder(async (folder) => {
      const server = createServer().listen(join(folder, "docker.sock"));
      await once(server, "listening");
      try {
        expect(named(await plantMount(`${folder}/docker.sock`))).toEqual(["mounts"]);
      } finally {
        server.close();
      }
    });
  });

  it("a cgroup file system turns mounts red", async () => {
    const found = await plantMount("/sys/fs/cgroup");
    expect(named(found)).toEqual(["mounts"]);
    expect(found[0]?.says).toMatch(/^\/mnt (cgroup2?|tmpfs)/);
  });
});

/** The probe says the pid first; until sleep sleeps, it is still becoming what it shall be. */
async function plantedPid(probe: ChildProcess): Promise<number> {
  let [text, complaint] = ["", ""];
  probe.stderr?.on("data", (data) => {
    complaint += data;
  });
  for await (const data of probe.stdout ?? []) {
    text += data;
    if (text.includes("\n")) break;
  }
  const pid = Number(text);
  const deadline = Date.now() + 10_000;
  while (Date.now() < deadline && probe.exitCode === null) {
    if (isAsleep(pid, "sleep")) return pid;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`nothing was planted: ${complaint}`);
}
