import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import type { Box } from "@sandboxer/contract";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { bringProbe, type Engine, openEngine, run, shell, start } from "./engine.ts";
import { initPidOf, namespacesOf, processesIn } from "./host-view.ts";

const { describe, given } = await requires("linux-userns", "boxd", "probe");

const USERS = process.getuid?.() === 0 ? ["user", "root"] : ["user"];

/** Read by the host before and after: what a sandbox must not be able to change. */
const KNOBS = [
  ...["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/hostname"],
  ...["/proc/sys/vm/swappiness", "/proc/sys/net/ipv4/ip_forward", "/proc/sys/fs/file-max"],
].filter((path) => existsSync(path));

describe("what a sandbox meets of the kernel", () => {
  let engine: Engine;
  let box: Box;
  let probe: string;

  beforeAll(async () => {
    engine = await openEngine({ boxdPath: given.boxd.path });
    box = await engine.create();
    probe = await bringProbe(box, given.probe.path);
  });
  afterAll(() => engine.close());

  it("NS-4 masks what tells about the host, and the masks stay on", async () => {
    const hidden =
      "acpi asound cmdline interrupts kcore key-users keys kmsg latency_stats sched_debug scsi timer_list timer_stats";
    const paths = hidden.split(" ").map((name) => `/proc/${name}`);
    expect(readFileSync("/proc/cmdline", "utf8"), "control: the host's is not empty").not.toBe("");
    for (const user of USERS) {
      const read = `for p in ${paths.join(" ")}; do [ -d $p ] && ls -A $p || cat $p; done 2>/dev/null`;
      expect((await shell(box, read, { user })).text, user).toBe("");
      const remove = `for p in ${paths.join(" ")}; do umount $p || rm -rf $p; done 2>/dev/null; ${read}`;
      expect((await shell(box, remove, { user })).text, user).toBe("");
    }
    const gone =
      "ls /sys/firmware /sys/devices/virtual/powercap /sys/devices/system/cpu/cpu0/thermal_throttle";
    expect((await shell(box, gone)).text).toBe("");
  });

  it("NS-5 turns none of the kernel's knobs", async () => {
    const before = KNOBS.map((path) => readFileSync(path, "utf8"));
    const targets = [...KNOBS, "/proc/sysrq-trigger", "/proc/irq/default_smp_affinity", "/proc/fs/x"];
    for (const user of USERS) {
      for (const path of targets) {
        const written = await shell(box, `echo 1 > ${path}`, { user });
        expect(written.exit, `${user} ${path}`).not.toEqual({ kind: "exited", code: 0 });
      }
    }
    expect(KNOBS.map((path) => readFileSync(path, "utf8"))).toEqual(before);
  });

  it("NS-6 has no sysfs and no cgroup file system, and can mount none", async () => {
    const types = readFileSync(`/proc/${initPidOf(engine.dir, box.ref)}/mountinfo`, "utf8")
      .trim()
      .split("\n")
      .map((line) => line.split(" - ")[1]?.split(" ")[0]);
    expect(types).toContain("proc");
    for (const type of ["sysfs", "cgroup", "cgroup2", "debugfs", "tracefs", "securityfs", "bpf"]) {
      expect(types).not.toContain(type);
    }
    for (const user of USERS) {
      for (const type of ["sysfs", "cgroup", "cgroup2", "proc", "tmpfs"]) {
        const mounted = await shell(box, `mount -t ${type} x /mnt`, { user });
        expect(mounted.exit, `${user} ${type}`).not.toEqual({ kind: "exited", code: 0 });
      }
    }
    expect((await shell(box, "find / -name release_agent -o -name cgroup.procs 2>/dev/null")).text).toBe("");
  });

  it("NS-7 writes to no read-only mount, whatever it tries first", async () => {
    const table = readFileSync(`/proc/${initPidOf(engine.dir, box.ref)}/mountinfo`, "utf8");
    const readOnly = table
      .trim()
      .split("\n")
      .map((line) => line.split(" "))
      .filter((fields) => fields[5]?.split(",").includes("ro"))
      .map((fields) => fields[4] as string);
    expect(readOnly).toContain("/usr");
    for (const user of USERS) {
      for (const place of readOnly) {
        const tries = `mount -o remount,rw ${place}; mount -o remount,rw,bind ${place}; mount --bind /tmp ${place}; umount ${place}`;
        const { text } = await shell(
          box,
          `(${tries}) 2>/dev/null; [ -d ${place} ] && touch ${place}/planted && echo wrote; true`,
          { user },
        );
        expect(text, `${user} ${place}`).toBe("");
      }
    }
    expect(existsSync("/usr/planted")).toBe(false);
    expect(readFileSync(`/proc/${initPidOf(engine.dir, box.ref)}/mountinfo`, "utf8")).toBe(table);
  });

  it("NS-8 finds no socket of anybody, by name or by port", async () => {
    const sockets = "find / -type s 2>/dev/null; grep -o '@.*' /proc/net/unix";
    // Where sudo asks, which is a door of the sandbox's own.
    expect((await shell(box, sockets)).text).toBe("@boxd/sudo\n");
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as { port: number };
    try {
      // Which works on the host, or the last line of this block throws.
      const dial = `bash -c 'echo > /dev/tcp/127.0.0.1/${port}'`;
      expect((await shell(box, dial)).exit).not.toEqual({ kind: "exited", code: 0 });
      execFileSync("sh", ["-c", dial]);
    } finally {
      server.close();
    }
  });

  it("NS-9 has the harmless devices, and makes no others", async () => {
    const { text } = await shell(
      box,
      "for f in $(find /dev | sort); do [ -L $f ] && continue; if [ -c $f ] || [ -b $f ]; then echo $f; fi; done",
    );
    const devices = "full null pts/ptmx random tty urandom zero".split(" ").map((name) => `/dev/${name}`);
    expect(text.trim().split("\n")).toEqual(devices);
    for (const user of USERS) {
      for (const node of ["b 8 0", "c 1 1", "c 10 232", "c 10 200"]) {
        const made = await shell(box, `mknod /tmp/node ${node}`, { user });
        expect(made.exit, `${user} ${node}`).not.toEqual({ kind: "exited", code: 0 });
      }
    }
    const others = "kvm mem kmsg fuse net/tun vsock loop-control".split(" ").map((name) => `/dev/${name}`);
    expect((await shell(box, `ls ${others.join(" ")} 2>/dev/null`)).text).toBe("");
  });

  it("NS-13 sees its own processes and ends nobody else's", async () => {
    const sibling = await engine.create();
    const [ours, theirs] = [box, sibling].map((one) => initPidOf(engine.dir, one.ref)) as [number, number];
    const bystander = await start(sibling, { argv: ["sleep", "60"] });
    const listed = await shell(box, "ls /proc | grep -c '^[0-9]'");
    expect(Number(listed.text)).toBeLessThanOrEqual(processesIn(namespacesOf(ours).pid as string).length + 4);
    for (const user of USERS) {
      await shell(box, "kill -9 -1; kill -9 1; kill -STOP 1; kill -TERM 1", { user });
      expect((await run(box, ["echo", "alive"])).text, user).toBe("alive\n");
    }
    expect(processesIn(namespacesOf(theirs).pid as string)).toHaveLength(2);
    await bystander.signal("KILL");
    await engine.destroy(sibling);
  });

  it("CA-2 gives nothing to setuid programs and file capabilities", async ({ skip }) => {
    if (process.getuid?.() !== 0) skip("a sandbox without a root of its own cannot make them");
    const make =
      "cp /usr/bin/id /var/tmp/id; chmod 4755 /var/tmp/id; stat -c '%u %a' /var/tmp/id; setfattr -n security.capability -v 0x010000020020000000000000000000000000000000 /var/tmp/id";
    const made = await shell(box, make, { user: "root" });
    expect(made.text, "control: it is setuid").toBe("0 4755\n");
    expect((await run(box, ["/var/tmp/id", "-u"])).text).toBe("1000\n");
    expect((await run(box, ["su", "root", "-c", "id -u"])).text).not.toContain("0\n");
    // Permitted and effective: cap_net_raw, as ping has it.
    const capable =
      "cp /usr/bin/grep /var/tmp/grep; setfattr -n security.capability -v 0x0100000200200000000000000000000000000000 /var/tmp/grep; getfattr -n security.capability --only-values /var/tmp/grep | od -An -tx1 | head -c 12";
    const given = await shell(box, capable, { user: "root" });
    const held = await run(box, ["/var/tmp/grep", "-hE", "Cap(Prm|Eff|Amb)", "/proc/self/status"]);
    expect(held.text, given.text).toBe(
      "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapAmb:\t0000000000000000\n",
    );
  });

  it("runs the programs that people use", async () => {
    const programs = {
      "nproc && nproc --all": /^\d+\n\d+\n$/,
      "lscpu | grep -c '^CPU(s):'": /^1\n$/,
      "[ ! -x /usr/bin/node ] || node -e 'new Worker(new URL(`data:text/javascript,1`)).on(`exit`, () => console.log(os.cpus().length > 0))' || true":
        /^(true\n)?$/,
      "[ ! -x /usr/bin/python3 ] || /usr/bin/python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1]))'":
        /^(\[1\]\n)?$/,
      "[ ! -x /usr/bin/java ] || java -version 2>&1 | grep -c version": /^(1\n)?$/,
      "bash -c 'echo a | { read x; echo $x; } & wait'": /^a\n$/,
    };
    for (const [script, expected] of Object.entries(programs)) {
      expect((await shell(box, script)).text, script).toMatch(expected);
    }
    expect((await run(box, [probe, "threads", "4"])).text, "a static program with threads").toBe("up\n");
  });
});
