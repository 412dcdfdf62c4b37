import { execFileSync } from "node:child_process";
import type { Box } from "@sandboxer/contract";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { bringProbe, type Engine, openEngine, run, shell, start } from "./engine.ts";
import golden from "./golden/calls.x86-64.json" with { type: "json" };
import {
  CALLS,
  KERNEL_SURFACE,
  MOUNTS_AND_NAMESPACES,
  parseVerdicts,
  verdictIn,
  verdictsIn,
} from "./verdicts.ts";

const { describe, given } = await requires("linux-userns", "boxd", "probe", "x86-64");

const REFUSED = expect.toBeOneOf(["EPERM", "ENOSYS"]);
const [AF_UNIX, AF_INET, AF_NETLINK] = [1, 2, 16];

/** The kernel lets these two by every filter, and refuses them itself to all but its own trampolines. */
const EXEMPT = [335, 336];

describe("system calls, by number", () => {
  let engine: Engine;
  let box: Box;
  let probe: string;
  const said = (question: string) => verdictIn(box, probe, question);

  beforeAll(async () => {
    engine = await openEngine({ boxdPath: given.boxd.path });
    box = await engine.create();
    probe = await bringProbe(box, given.probe.path);
  });
  afterAll(() => engine.close());

  it("control: without a filter every one of them passes, in every way", () => {
    const questions = ["native:0-600", "i386:0-600", "x32:0-600", "native:41:38,5,0", "native:56:0x20000000"];
    const outside = parseVerdicts(
      execFileSync(given.probe.path, ["verdicts", ...questions], { encoding: "utf8" }),
    );
    expect(outside.size).toBe(3 * 601);
    const others = [...outside].filter(([call, verdict]) => {
      const [abi, number] = call.split(" ");
      return verdict !== "passes" && !(abi === "native" && EXEMPT.includes(Number(number)));
    });
    expect(others).toEqual([]);
  });

  it("CA-7 lets exactly the committed calls pass", async () => {
    const verdicts = await verdictsIn(box, probe, ["native:0-600"]);
    for (const number of EXEMPT) verdicts.delete(`native ${number}`);
    const passing = [...verdicts].filter(([, verdict]) => verdict === "passes");
    expect(passing.map(([call]) => Number(call.split(" ")[1]))).toEqual(Object.values(golden));
    for (const [call, verdict] of verdicts) {
      expect(verdict, call).toBeOneOf(["passes", "EPERM", "ENOSYS", "EAFNOSUPPORT"]);
    }
  });

  it("CA-3 refuses mounts and namespaces", async () => {
    for (const [name, number] of Object.entries(MOUNTS_AND_NAMESPACES)) {
      expect(await said(`native:${number}`), name).toEqual(REFUSED);
    }
    // Newer calls must look absent, so that libc falls back to those that can be judged.
    expect(await said(`native:${CALLS.clone3}`)).toBe("ENOSYS");
    for (const bit of [17, 25, 26, 27, 28, 29, 30]) {
      expect(await said(`native:${CALLS.clone}:${2 ** bit + 17}`), `bit ${bit}`).toBe("EPERM");
    }
    expect(await said(`native:${CALLS.clone}:17`)).toBe("passes");
  });

  it("CA-4 refuses the kernel's rarer parts", async () => {
    for (const [name, number] of Object.entries(KERNEL_SURFACE)) {
      expect(await said(`native:${number}`), name).toEqual(REFUSED);
    }
    for (const odd of [8, 0x0020_0000, 0x0800_0000]) {
      expect(await said(`native:${CALLS.personality}:${odd}`), `personality ${odd}`).toBe("EPERM");
    }
    expect(await said(`native:${CALLS.personality}:${0xffff_ffff}`)).toBe("passes");
  });

  it("CA-4 refuses keyrings when they are really asked for", async () => {
    expect((await run(box, [probe, "call", "250", "0", "-3", "0"])).text).toBe("1\n");
    expect((await run(box, [probe, "call", "248", "@user", "@name", "@secret", "6", "-3"])).text).toBe("1\n");
  });

  it("CA-5 refuses every entry for other programs: i386 and x32", async () => {
    const verdicts = await verdictsIn(box, probe, ["i386:0-600", "x32:0-600", "i386:102:1,0,0"]);
    expect(new Set(verdicts.values())).toEqual(new Set(["EPERM"]));
  });

  it("CA-6 gives local, TCP, UDP and routing sockets only", async () => {
    const socket = (family: number, kind: number, protocol = 0) =>
      said(`native:${CALLS.socket}:${family},${kind},${protocol}`);
    for (let family = 0; family < 50; family++) {
      if ([AF_UNIX, AF_INET, 10, AF_NETLINK].includes(family)) continue;
      expect(await socket(family, 2), `family ${family}`).toBe("EAFNOSUPPORT");
      expect(await said(`native:${CALLS.socketpair}:${family},1,0`)).toBe("EAFNOSUPPORT");
    }
    for (const family of [AF_INET, 10]) {
      for (const kind of [3, 4, 5, 6, 10]) expect(await socket(family, kind)).toBe("EPROTONOSUPPORT");
      for (const protocol of [1, 58, 132, 136, 255, 262]) {
        expect(await socket(family, 2, protocol), `protocol ${protocol}`).toBe("EPROTONOSUPPORT");
      }
      for (const [kind, protocol] of [[1], [2], [1, 6], [2, 17], [0x80801, 6]] as const) {
        expect(await socket(family, kind, protocol)).toBe("passes");
      }
    }
    for (const protocol of [2, 4, 9, 12, 15, 16]) {
      expect(await socket(AF_NETLINK, 3, protocol), `netlink ${protocol}`).toBe("EPROTONOSUPPORT");
    }
    expect(await socket(AF_NETLINK, 3, 0)).toBe("passes");
  });

  it("NS-12 types into no terminal, not even its own", async () => {
    const script = `setsid --version >/dev/null; ${probe} call ${CALLS.ioctl} 0 0x5412 @x; ${probe} call ${CALLS.ioctl} 0 0x541c @x; tty; ${probe} call ${CALLS.ioctl} 0 0x5413 @12345678`;
    const { text } = await shell(box, script, { pty: { cols: 80, rows: 24 } });
    expect(text.replaceAll("\r", "").split("\n").slice(0, 4)).toEqual(["1", "1", "/dev/pts/0", "0"]);
  });

  it("CA-8 lets programs trace what they could end anyway, and never process 1", async () => {
    expect((await run(box, [probe, "trace", "child"])).text).toBe("0\n");
    expect((await run(box, [probe, "trace", "1"])).text).toBe("1\n");
    if (process.getuid?.() !== 0) return;
    const roots = await start(box, { argv: ["sleep", "60"], user: "root" });
    const users = await start(box, { argv: ["sleep", "60"] });
    expect((await run(box, [probe, "trace", String(roots.pid)])).text, "the sandbox's root").toBe("1\n");
    const asRoot = { user: "root" };
    expect((await run(box, [probe, "trace", String(users.pid)], asRoot)).text, "as root").toBe("1\n");
    expect((await run(box, [probe, "trace", "1"], asRoot)).text, "process 1, as root").toBe("1\n");
    for (const process of [roots, users]) await process.signal("KILL");
  });

  it("keeps process 1 to itself, also from the sandbox's root", async () => {
    const users = process.getuid?.() === 0 ? ["user", "root"] : ["user"];
    for (const user of users) {
      const files = "environ maps mem auxv stack syscall io".split(" ").map((name) => `/proc/1/${name}`);
      const script = `cat ${files.join(" ")}; ls /proc/1/fd /proc/1/map_files /proc/1/root/ /proc/1/cwd/ | grep -v :; readlink /proc/1/exe /proc/1/root /proc/1/cwd; true`;
      expect((await shell(box, script, { user })).text, user).toBe("");
      expect((await shell(box, "cat /proc/1/cmdline | tr -d '\\0'", { user })).text).toBe("boxd serve");
    }
    expect((await shell(box, "readlink /proc/self/root")).text, "control: its own is readable").toBe("/\n");
  });
});
