import { lstatSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execRequestSchema } from "@sandboxer/contract";
import { afterAll, beforeAll, expect, it } from "vitest";
import { readOrNothing } from "../capabilities/processes.ts";
import { requires } from "../capabilities/requires.ts";
import { initPidOf, namespacesOf, processesIn } from "./host-view.ts";
import {
  firstLine,
  firstOffset,
  openLimitedEngine,
  residentBytes,
  sleep,
  throttled,
} from "./limited-engine.ts";

const { describe } = await requires("linux-userns", "boxd", "limits");

const MIB = 2 ** 20;
const SMALL = { cpus: 0.5, memoryMiB: 64, pids: 64, openFiles: 256, diskMiB: 32, diskInodes: 1_000 };
const LARGE = { cpus: 2, memoryMiB: 1_024, pids: 512, openFiles: 2_048, diskMiB: 512 };
const OK = { kind: "exited", code: 0 };
const KILLED = { kind: "signalled", signal: "KILL" };

const perl = (script: string) => ["perl", "-e", script];
const python = (script: string) => ["python3", "-c", script];
const shell = (script: string) => ["sh", "-c", script];

/** Prints how many of 200 it got and what the kernel said; the children stay for a while. */
const FORK_BOMB = perl(
  "$| = 1; $SIG{CHLD} = 'IGNORE'; for (1..200) { my $p = fork; if (!defined $p) { print qq($_: $!\\n); exec 'sleep', 60 }" +
    " if (!$p) { exec 'sleep', 60 } } print qq(all\\n); exec 'sleep', 60",
);
/** The dead nobody asks after: each keeps its number until its parent goes. */
const ZOMBIES = perl(
  "$| = 1; for (1..200) { my $p = fork; if (!defined $p) { print qq($_: $!\\n); sleep 60; exit }" +
    " exit if !$p } print qq(all\\n); sleep 60",
);
const THREAD_BOMB = [
  "python3",
  "-c",
  "import threading as t,time\nn=0\ntry:\n  for n in range(200): t.Thread(target=time.sleep,args=(60,),daemon=True).start()\n" +
    "except RuntimeError as e: print(e, flush=True)\nelse: print('all', flush=True)\ntime.sleep(60)",
];

/** A child that its parent traces and never lets go on. */
const TRACED =
  "import ctypes, os, signal, time; p = os.fork();\nif p == 0: ctypes.CDLL(None).ptrace(0, 0, 0, 0); os.kill(os.getpid(), signal.SIGSTOP)\n" +
  'os.waitpid(p, 2); open("/tmp/traced", "w"); time.sleep(600)';

describe("limits that hold", () => {
  let engine: Awaited<ReturnType<typeof openLimitedEngine>>;
  beforeAll(async () => {
    engine = await openLimitedEngine();
  });
  afterAll(async () => engine?.close());

  it.for([
    ["fork", FORK_BOMB, /: Resource temporarily unavailable$/],
    ["thread", THREAD_BOMB, /^can't start new thread$/],
    ["zombie", ZOMBIES, /: Resource temporarily unavailable$/],
  ] as const)("RL-1 stops a %s bomb at the sandbox's own limit", async ([, argv, refused]) => {
    const small = await engine.create(SMALL);
    const large = await engine.create(LARGE);
    expect(await firstLine(small.box, argv)).toMatch(refused);
    expect((await small.metrics()).pids).toBeLessThanOrEqual(SMALL.pids);
    expect((await small.metrics()).pids).toBeGreaterThan(SMALL.pids - 4);
    await engine.othersGoOn();
    await expect(small.run(["true"])).rejects.toMatchObject({ code: "capacity_exhausted" });
    expect(await firstLine(large.box, argv), "control").toBe("all");
    await small.destroy();
    await large.destroy();
  });

  it.for([
    ["anonymous memory", perl('my $x = "x" x (200 << 20); print length $x')],
    [
      "a memfd",
      python("import os; f = os.memfd_create('x'); [os.write(f, b'x' * 65536) for _ in range(3200)]"),
    ],
    [
      "a shared mapping",
      [
        "python3",
        "-c",
        "import mmap; m = mmap.mmap(-1, 200 << 20); [m.write(b'x' * 65536) for _ in range(3200)]",
      ],
    ],
  ] as const)("RL-2 charges %s to the sandbox and ends who takes too much", async ([, argv]) => {
    const small = await engine.create(SMALL);
    const large = await engine.create(LARGE);
    expect((await small.run([...argv])).exit).toEqual(KILLED);
    const { oomKills, memoryPeakBytes, memoryLimitBytes } = await small.metrics();
    expect(oomKills).toBeGreaterThan(0);
    expect(memoryLimitBytes).toBe(SMALL.memoryMiB * MIB);
    expect(memoryPeakBytes).toBeLessThanOrEqual(SMALL.memoryMiB * MIB);
    expect((await small.run(["echo", "alive"])).text).toBe("alive\n");
    await engine.othersGoOn();
    expect((await large.run([...argv])).exit, "control").toEqual(OK);
    expect((await large.metrics()).oomKills, "control").toBe(0);
    expect((await large.metrics()).memoryPeakBytes, "control: it is charged").toBeGreaterThan(190 * MIB);
    await small.destroy();
    await large.destroy();
  });

  it("RL-2 charges tmpfs and page cache to the sandbox, which still works when both are full", async () => {
    const small = await engine.create(SMALL);
    for (const place of ["/tmp", "/dev/shm"]) {
      const fill = await small.run(shell(`head -c 200M /dev/zero > ${place}/fill`));
      expect(fill.complaint, place).toContain("No space left");
    }
    const { memoryBytes } = await small.metrics();
    expect(memoryBytes, "what is in tmpfs is charged").toBeGreaterThan(40 * MIB);
    const cached = await small.run(
      shell("head -c 20M /dev/zero > ~/file && cat ~/file ~/file ~/file | wc -c"),
    );
    expect(cached.text).toBe(`${60 * MIB}\n`);
    expect((await small.metrics()).memoryPeakBytes).toBeLessThanOrEqual(SMALL.memoryMiB * MIB);
    expect((await small.run(["echo", "alive"])).text).toBe("alive\n");
    await engine.othersGoOn();
    await small.destroy();
  });

  it.for([
    // Unread bytes: 60 pipes of 64 KiB, 60 pairs of sockets with what each takes.
    [
      "pipes and sockets",
      8 * MIB,
      python(
        "import os, socket, time\nkept = []\nfor _ in range(60):\n  r, w = os.pipe(); os.set_blocking(w, False)\n" +
          "  a, b = socket.socketpair(); a.setblocking(False); kept += [r, w, a, b]\n" +
          "  for put in (lambda: os.write(w, b'x' * 4096), lambda: a.send(b'x' * 4096)):\n" +
          "    try:\n      while True: put()\n    except BlockingIOError: pass\n" +
          "print('up', flush=True); time.sleep(60)",
      ),
    ],
    // An empty file is an entry and an inode in the kernel's memory.
    [
      "file names",
      4 * MIB,
      perl(
        '$| = 1; mkdir "$ENV{HOME}/many"; for (1..6000) { open my $f, ">", "$ENV{HOME}/many/$_" } print qq(up\\n); sleep 60',
      ),
    ],
  ] as const)("RL-2 charges what the kernel keeps for its %s to the sandbox", async ([, atLeast, argv]) => {
    const large = await engine.create(LARGE);
    const idle = await firstLine(large.box, perl("$| = 1; print qq(up\n); sleep 60"));
    const before = (await large.metrics()).memoryBytes;
    expect([idle, await firstLine(large.box, argv)]).toEqual(["up", "up"]);
    expect((await large.metrics()).memoryBytes - before).toBeGreaterThan(atLeast);
    await engine.othersGoOn();
    await large.destroy();
  });

  it("RL-3 ends a disk at its bytes and at its inodes", async () => {
    const small = await engine.create(SMALL);
    const large = await engine.create(LARGE);
    const fill = shell("head -c 100M /dev/zero > ~/fill && echo all; stat -c %s ~/fill");
    const filled = await small.run(fill);
    expect(filled.complaint).toContain("No space left");
    expect(Number(filled.text)).toBeLessThan(SMALL.diskMiB * MIB);
    expect((await small.metrics()).diskBytes).toBeGreaterThan(20 * MIB);
    expect(hostBytesOf(engine.dir, small.box.ref), "what it takes of the host's").toBeLessThan(
      (SMALL.diskMiB + 4) * MIB,
    );
    writeFileSync(join(engine.dir, "state"), "the host still writes");
    expect((await large.run(fill)).text, "control").toBe(`all\n${100 * MIB}\n`);

    const many = shell(
      "rm -f ~/fill; mkdir ~/many && cd ~/many && for i in $(seq 3000); do : > $i || exit 1; done; echo all",
    );
    const listed = await small.run(many);
    expect(listed.complaint).toContain("No space left");
    expect((await large.run(many)).text, "control").toBe("all\n");

    const sparse = await small.run(shell("rm -rf ~/many; truncate -s 1T ~/sparse; du -m ~/sparse | cut -f1"));
    expect(Number(sparse.text || 0), "what a hole takes").toBeLessThan(2);
    await engine.othersGoOn();
    await small.destroy();
    await large.destroy();
  });

  it("RL-3 gives everybody an empty disk of the size asked for, also when whoever makes them ahead is killed", async () => {
    const sizeMiB = async ({ diskMiB }: { diskMiB: number }) => {
      const box = await engine.create({ ...SMALL, diskMiB });
      const seen = await box.run(
        shell("ls -A ~ | grep -c ^left; : > ~/left; df -m / | tail -1 | tr -s ' ' | cut -d' ' -f2"),
      );
      await box.destroy();
      return seen.text.trim().split("\n").map(Number);
    };
    for (const diskMiB of [64, 128, 128, 128, 64, 64, 128]) {
      const [left, size = 0] = await sizeMiB({ diskMiB });
      expect(left).toBe(0);
      expect(Math.abs(size - diskMiB)).toBeLessThan(diskMiB / 4);
    }
    await expect.poll(() => makersOf(engine.dir)).not.toEqual([]);
    const makers = makersOf(engine.dir);
    for (const pid of makers) process.kill(pid, "SIGKILL");
    for (let round = 0; round < 8; round++) expect((await sizeMiB({ diskMiB: 64 }))[0]).toBe(0);
    await expect.poll(() => makersOf(engine.dir).filter((pid) => !makers.includes(pid))).not.toEqual([]);
  });

  it("RL-4 counts descriptors and inotify instances for each sandbox alone", async () => {
    const small = await engine.create(SMALL);
    const open = perl(
      'my @f; while (open my $f, "<", "/dev/null") { push @f, $f; last if @f == 1000 } print scalar(@f), " $!"',
    );
    expect((await small.run(open)).text).toMatch(/^2\d\d Too many open files$/);
    expect((await engine.neighbour.run(open)).text, "control").toMatch(/^1000 /);

    const watch = perl(
      '$| = 1; my $n = 0; $n++ while $n < 200 && syscall(294, 0) >= 0; print "$n\\n"; sleep 60',
    );
    const exhausted = Number(await firstLine(small.box, watch));
    expect(exhausted).toBeGreaterThan(0);
    expect(exhausted).toBeLessThanOrEqual(200);
    expect(Number(await firstLine(engine.neighbour.box, watch))).toBe(exhausted);
    await small.destroy();
  });

  it("RL-5 holds processor time to the quota, and gives no priority", async () => {
    // So little that even a busy machine has more to give.
    const cpus = 0.1;
    const small = await engine.create({ ...SMALL, cpus });
    const burn = perl("fork; 1 while time - $^T < 3");
    const before = await small.metrics();
    await small.run(burn);
    const after = await small.metrics();
    const share = (after.cpuTimeMs - before.cpuTimeMs) / (after.atMs - before.atMs);
    expect(share, "of one processor, by two who want all of it").toBeLessThan(cpus * 2);
    expect(throttled(small.group("cpu.stat"))).toBeGreaterThan(0);
    await engine.othersGoOn();
    expect(throttled(engine.neighbour.group("cpu.stat")), "control: it has no quota").toBe(0);

    const realTime = python("import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))");
    expect((await small.run(realTime)).complaint).toContain("PermissionError: [Errno 1]");
    const idle = python("import os; os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))");
    expect((await small.run(idle)).exit, "control").toEqual(OK);
    const niced = (by: number) =>
      small.run(
        perl(`$had = getpriority(0, 0); setpriority(0, 0, $had + ${by}); print getpriority(0, 0) - $had`),
      );
    expect((await niced(-5)).text).toBe("0");
    expect((await niced(5)).text, "control").toBe("5");
    await small.destroy();
  });

  it("RL-6 keeps a bounded part of what nobody reads", async () => {
    const small = await engine.create({ ...SMALL, cpus: 2 });
    const flood = await small.box.exec(execRequestSchema.parse({ argv: ["cat", "/dev/zero"] }), "att");
    const init = initPidOf(engine.dir, small.box.ref);
    const ours = process.memoryUsage().rss;
    await sleep(1_000);
    expect(residentBytes(init), "of the first process, with a slow reader").toBeLessThan(16 * MIB);
    // Now nobody reads at all, and the oldest bytes give way.
    small.box.close();
    const again = await engine.attach(small.box.ref);
    const gone = async () => (await firstOffset(await again.attachProcess(flood.id, { stdout: 0 }))).stdout;
    await expect.poll(gone, { message: "the offset tells what is gone", interval: 500 }).toBeGreaterThan(MIB);
    expect(residentBytes(init), "of the first process, with no reader").toBeLessThan(16 * MIB);
    expect(process.memoryUsage().rss - ours, "of the gateway's side").toBeLessThan(64 * MIB);
    await engine.othersGoOn();
    await small.destroy();
  });

  it("RL-7 five hundred commands at once run or are refused, and nobody else notices", async () => {
    const small = await engine.create(SMALL);
    const outcomes = await Promise.all(
      Array.from({ length: 500 }, () =>
        small.run(["sleep", "10"]).then(
          ({ exit }) => (exit.kind === "exited" && exit.code === 0 ? "done" : JSON.stringify(exit)),
          (error) => error.code,
        ),
      ),
    );
    await engine.othersGoOn();
    const counts = Object.groupBy(outcomes, (outcome) => outcome);
    expect(counts.done?.length).toBeGreaterThan(0);
    expect(Object.keys(counts).sort()).toEqual(["capacity_exhausted", "done"]);
    expect((await small.run(["echo", "alive"])).text).toBe("alive\n");
    await small.destroy();
  });

  it("RL-8 ends what is stopped, traced, detached or frozen", async () => {
    for (const pause of [false, true]) {
      const doomed = await engine.create(SMALL);
      const namespace = namespacesOf(initPidOf(engine.dir, doomed.box.ref)).pid as string;
      const script =
        "trap '' TERM HUP INT; (setsid sh -c 'trap \"\" TERM; kill -STOP $$' &) ;" +
        " (setsid sh -c 'sleep 600 & sleep 600' &); sleep 600 & kill -STOP $!;" +
        ` python3 -c '${TRACED}' & while [ ! -e /tmp/traced ]; do sleep 0.1; done; echo up; exec sleep 600`;
      expect(await firstLine(doomed.box, shell(script))).toBe("up");
      expect(processesIn(namespace).length, "control: they live").toBeGreaterThan(4);
      expect(statesIn(namespace), "control: one is stopped by who traces it").toContain("t");
      if (pause) await doomed.pause();
      await doomed.destroy();
      expect(processesIn(namespace)).toEqual([]);
    }
    await engine.othersGoOn();
  });

  it("RL-9 writes no core and runs no program of the host for one", async () => {
    const small = await engine.create(SMALL);
    const crash = await small.run(perl("chdir; kill SEGV => $$; sleep 1"));
    expect(crash.exit).toEqual({ kind: "signalled", signal: "SEGV" });
    expect((await small.run(shell("ls ~ /tmp; ulimit -c unlimited"))).text).toBe("/home/user:\n\n/tmp:\n");
    // The kernel runs the host's handler with any limit but 1.
    const limits = readFileSync(`/proc/${initPidOf(engine.dir, small.box.ref)}/limits`, "utf8");
    expect(limits).toMatch(/Max core file size +1 +1 /);
    await small.destroy();
  });
});

/** Of its folder and what is in it, on the disk of the host. */
function hostBytesOf(dir: string, ref: string): number {
  const folder = join(dir, "boxes", ref);
  const paths = readdirSync(folder).map((name) => join(folder, name));
  return [folder, ...paths].reduce((sum, path) => sum + lstatSync(path).blocks * 512, 0);
}

const statesIn = (namespace: string): string[] =>
  processesIn(namespace).map((pid) => /^State:\t(\S)/m.exec(readOrNothing(`/proc/${pid}/status`))?.[1] ?? "");

function makersOf(dir: string): number[] {
  const isMaker = (pid: string) =>
    readOrNothing(`/proc/${pid}/cmdline`).replaceAll("\0", " ").startsWith(`boxd disks ${dir}`);
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && isMaker(name))
    .map(Number);
}
