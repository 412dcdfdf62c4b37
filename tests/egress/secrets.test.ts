import { execFileSync, spawnSync } from "node:child_process";
import {
  appendFileSync,
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { idMapOf, initPidOf, namespacesOf, processesIn } from "../security/host-view.ts";
import { holds, KEY, MODEL } from "./lab/keys.ts";
import { WORLD } from "./lab/lab.ts";
import { guardProcesses } from "./lab/processes.ts";
import { type Bench, openBench, text } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

/** An agent that asks a model, keeps the answer, and lives on. */
const AGENT = `
import json, os, time, urllib.request
key = os.environ["MODEL_KEY"]
open("/home/user/.config.json", "w").write(json.dumps({"key": key}))
body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "2+2?"}]}).encode()
request = urllib.request.Request("https://model.test/v1/messages", body, {"x-api-key": key, "content-type": "application/json"})
answer = urllib.request.urlopen(request).read().decode()
print(answer, flush=True)
time.sleep(60)
`;

describe("a secret that never enters", () => {
  let bench: Bench;
  let sandbox: Sandbox;
  const log: string[] = [];
  beforeAll(async () => {
    bench = await openBench({}, { log: (line) => void log.push(JSON.stringify(line)) });
    for (const name of ["model.test", "other.test"]) await bench.lab.name(name, [WORLD]);
    await bench.lab.accept(KEY);
    await bench.client.secrets.set("MODEL_KEY", { value: KEY, bindings: [MODEL] });
    const rules = [{ host: "model.test" }, { host: "other.test", inspect: true }];
    sandbox = await bench.sandbox({ rules }, { secrets: ["MODEL_KEY"] });
  });
  afterAll(() => bench.close());
  beforeEach(() => bench.lab.clear());

  it("SE-1 an agent's key works through a placeholder, and is nowhere inside", async () => {
    const process = await sandbox.exec({ argv: ["python3", "-c", AGENT] });
    let said = "";
    for await (const event of process.events) {
      if (event.type === "stdout" || event.type === "stderr") said += text(event.data);
      if (said.includes("\n")) break;
    }
    expect(said).toContain('"text":"four"');
    const { records } = await bench.lab.look();
    const [asked] = records.filter(({ kind }) => kind === "request");
    expect(asked?.headers?.join("\n"), "the far side has the key").toContain(KEY);

    const { stdout } = await sandbox.run(["printenv", "MODEL_KEY"]);
    const placeholder = text(stdout).trim();
    expect(placeholder).toMatch(/^sk-ant-api03-/);
    expect(placeholder).toHaveLength(KEY.length);
    expect(holds(placeholder, KEY)).toEqual([]);

    const inside = searchProcesses(join(bench.home, "engine"), sandbox.id, [KEY, placeholder]);
    expect(inside.processes).toBeGreaterThan(1);
    expect(inside.found(KEY), "the key").toEqual([]);
    expect(inside.found(placeholder), "control: what is there is found").not.toEqual([]);
    const files = await sandbox.run(
      ["sh", "-c", `grep -rlsF -- '${KEY}' /home /tmp /etc /run /var /root; true`],
      {
        user: "root",
      },
    );
    expect(text(files.stdout)).toBe("");
    const control = await sandbox.run(["grep", "-rlsF", "--", placeholder, "/home"]);
    expect(text(control.stdout)).toBe("/home/user/.config.json\n");
    await process.signal("KILL");
  });

  it("SE-6 it is in no file of the home, no event, no error, no log and no answer", async () => {
    const used = await sandbox.run(["sh", "-c", 'curl -s -H "x-api-key: $MODEL_KEY" https://other.test/']);
    expect(text(used.stdout)).toContain("where that may not go");
    const isTold = async () =>
      (await bench.client.events.list({ limit: 500 })).some(({ type }) => type === "secret.misused");
    await expect.poll(isTold, { timeout: 30_000 }).toBe(true);
    const files = walk(bench.home).filter(isRegular);
    expect(files.some((path) => path.endsWith("state.db"))).toBe(true);
    const holding = (all: readonly string[]) => all.filter((path) => holds(readOrNone(path), KEY).length > 0);
    expect(holding(files)).toEqual([]);
    const planted = join(bench.home, "planted");
    for (const form of [KEY, Buffer.from(`u:${KEY}`).toString("base64"), Buffer.from(KEY).toString("hex")]) {
      writeFileSync(planted, `{"note":"${form}"}`);
      expect(holding(walk(bench.home).filter(isRegular)), "control: one that is there is found").toEqual([
        planted,
      ]);
    }
    rmSync(planted);
    const events = JSON.stringify(await bench.client.events.list({ limit: 500 }));
    const { calls } = await sandbox.networkCalls();
    const shown = JSON.stringify([await bench.client.secrets.list(), await sandbox.refresh(), calls]);
    const headers = { authorization: `Bearer ${bench.gateway.apiKey}` };
    const metrics = await (await bench.gateway.fetch("http://localhost/metrics", { headers })).text();
    expect(metrics, "control: there are figures of it").toContain("sandboxer_sandboxes");
    for (const told of [events, shown, metrics, log.join("\n")]) expect(holds(told, KEY)).toEqual([]);
    expect(events).toContain("secret.misused");
    const database =
      readFileSync(join(bench.home, "state.db"), "latin1") +
      readFileSync(join(bench.home, "state.db-wal"), "latin1");
    expect(database, "control: it is kept, sealed").toContain("sealed:1:");
  });

  it("SE-6 no error says it: not of who sets it wrongly, nor of where it is kept, nor of who is stopped", async () => {
    const { client, home } = bench;
    const failing = join(home, "failing.sh");
    const AWS = { in: "aws-sigv4" as const, region: "r", service: "s" };
    writeFileSync(failing, `#!/bin/sh\necho '${KEY}'; echo 'no: ${KEY}' >&2; exit 1\n`, { mode: 0o755 });
    const wrong: [string, Parameters<typeof client.secrets.set>[1]][] = [
      ["two lines", { value: `${KEY}\nmore`, bindings: [MODEL] }],
      ["padded", { value: ` ${KEY}`, bindings: [MODEL] }],
      ["no such field", { value: KEY, bindings: [MODEL], extra: KEY } as never],
      ["no AWS key", { value: KEY, bindings: [{ ...MODEL, place: AWS }] }],
      [
        "no SSH key",
        { value: KEY, bindings: [{ host: "model.test", ports: [22], place: { in: "ssh" } } as never] },
      ],
      ["a command that fails", { command: [failing], bindings: [MODEL] }],
      ["a file with more than it", { ref: `file:${failing}`, bindings: [{ ...MODEL, place: AWS }] }],
      ["a file that is none", { ref: `file:${join(home, "nosuch")}`, bindings: [MODEL] } as never],
    ];
    for (const [what, body] of wrong) {
      const error = await client.secrets.set("WRONG", body).then(
        () => undefined,
        (thrown) => thrown,
      );
      expect(error?.code, what).toBeDefined();
      const said = JSON.stringify([error.message, error.hint, error.details]);
      expect(holds(said, KEY), what).toEqual([]);
    }
    rmSync(failing);
    for (const line of [
      '-H "x-other: $MODEL_KEY" https://model.test/v1/x',
      '-d "$MODEL_KEY" https://model.test/v1/x',
    ]) {
      const { stdout } = await sandbox.run(["sh", "-c", `curl -si ${line}`]);
      expect(text(stdout)).toContain("where that may not go");
      expect(holds(text(stdout), KEY)).toEqual([]);
    }
    expect(holds(log.join("\n"), KEY)).toEqual([]);
  });

  it("SE-1 SE-6 it is in no layer, configuration or history of an image that is made of the sandbox", async () => {
    const placeholder = text((await sandbox.run(["printenv", "MODEL_KEY"])).stdout).trim();
    await sandbox.run(["sh", "-c", "echo kept-word > /home/user/kept; echo $MODEL_KEY > /home/user/mine"]);
    const { id } = await sandbox.snapshot();
    const dir = mkdtempSync(join(tmpdir(), "sandboxer-history-"));
    const archive = join(dir, "snapshot.tar");
    for await (const part of await bench.client.snapshots.export(id)) appendFileSync(archive, part);
    execFileSync("tar", ["-xf", archive, "-C", dir]);
    const files = walk(dir).filter(isRegular);
    const read = files.map((path) => readFileSync(path, "latin1"));
    const documents = read.filter((one) => one.startsWith("{"));
    rmSync(dir, { recursive: true });
    const layers = read.filter((one) => !one.startsWith("{")).join("");
    expect(layers, "control: what was written inside is in a layer").toContain("kept-word");
    expect(layers, "with what stood for the key").toContain(placeholder);
    expect(documents.join(""), "control: so are its documents").toContain('"config"');
    for (const one of read) expect(holds(one, KEY)).toEqual([]);
    for (const one of documents) expect(holds(one, placeholder)).toEqual([]);
  });

  it("SE-7 what unseals it is its owner's alone, and no process of the gateway says it", async () => {
    expect(statSync(join(bench.home, "secrets.key")).mode & 0o777).toBe(0o600);
    for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
      const said = ["cmdline", "environ"].map((name) => readOrNone(`/proc/${pid}/${name}`)).join("");
      if (said.includes(bench.home)) expect(holds(said, KEY)).toEqual([]);
    }
    const { stdout } = await sandbox.run(["sh", "-c", "ls /proc | grep -c '^[0-9]'; ls /home"], {
      user: "root",
    });
    expect(text(stdout)).not.toContain("secrets.key");
  });

  it("SE-7 what has it in memory leaves no dump, and is not inside to be looked at", async () => {
    const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    const guards = pids.filter((pid) => {
      const line = readOrNone(`/proc/${pid}/cmdline`);
      return line.includes(bench.home) && /guard\/main\.ts|\0relay\0/.test(line);
    });
    expect(guards.length, "the guard and its relay").toBeGreaterThanOrEqual(2);
    for (const pid of guards) {
      expect(readOrNone(`/proc/${pid}/limits`)).toMatch(/Max core file size +0 +0 /);
      const outside = readOrNone(`/proc/${pid}/status`).match(/^Pid:\t(\d+)$/m)?.[1] ?? "";
      const seen = await sandbox.run(["sh", "-c", `cat /proc/${outside}/environ /proc/${outside}/cmdline`], {
        user: "root",
      });
      expect(text(seen.stdout)).not.toContain(bench.home);
    }
    const own = await sandbox.run(["cat", "/proc/self/cmdline"]);
    expect(text(own.stdout), "control: its own it sees").toContain("cmdline");
  });

  it("SE-7 nor could whom the sandbox's users are outside read it, were they there", async () => {
    const maps = idMapOf(initPidOf(join(bench.home, "engine"), sandbox.id));
    const outside = maps.map(([, first = 0]) => first);
    expect(outside.length).toBeGreaterThan(0);
    const guard = guardProcesses(bench.home, "guard/main.ts")[0] ?? 0;
    const read = (uid: number, path: string) => {
      const as = "import os, sys; one = int(sys.argv[1]); os.setgroups([]); os.setgid(one); os.setuid(one)";
      const args = ["-c", `${as}; open(sys.argv[2], "rb", 0).read(0)`, `${uid}`, path];
      return spawnSync("python3", args).status === 0;
    };
    for (const uid of outside) {
      expect(uid, "nobody whom this machine knows").toBeGreaterThan(0);
      // The gateway is this process.
      for (const pid of [process.pid, guard]) {
        for (const name of ["environ", "mem", "maps"])
          expect(read(uid, `/proc/${pid}/${name}`), name).toBe(false);
        expect(read(uid, `/proc/${pid}/status`), "control").toBe(true);
      }
      for (const name of ["secrets.key", "state.db"])
        expect(read(uid, join(bench.home, name)), name).toBe(false);
    }
    expect(read(0, join(bench.home, "secrets.key")), "control: its owner can").toBe(true);
  });

  it("refuses a secret that is not there or has nowhere to go", async () => {
    const guarded = { egress: "guarded" as const };
    const none = bench.client.sandboxes.create({ network: guarded, secrets: ["NOSUCH"] });
    await expect(none).rejects.toMatchObject({ code: "policy_denied" });
    const sealed = bench.client.sandboxes.create({ secrets: ["MODEL_KEY"] });
    await expect(sealed).rejects.toMatchObject({ code: "invalid_request" });
    for (const value of ["short", "two\nlines of it", "ümlaut-ümlaut", " padded value"]) {
      const set = bench.client.secrets.set("BAD", { value, bindings: [MODEL] });
      await expect(set, value).rejects.toMatchObject({ code: "invalid_request" });
    }
  });
});

/** Environment, command line and every readable byte of memory, as the host sees them. */
function searchProcesses(engineDir: string, sandboxId: string, words: readonly string[]) {
  const pids = processesIn(namespacesOf(initPidOf(engineDir, sandboxId)).pid as string);
  const hits = new Map<string, string[]>(words.map((word) => [word, []]));
  const look = (where: string, bytes: Buffer) => {
    for (const word of words) if (bytes.includes(word)) hits.get(word)?.push(where);
  };
  for (const pid of pids) {
    for (const name of ["environ", "cmdline"])
      look(`${pid}/${name}`, Buffer.from(readOrNone(`/proc/${pid}/${name}`)));
    for (const bytes of memoryOf(pid)) look(`${pid}/mem`, bytes);
  }
  return { processes: pids.length, found: (word: string) => hits.get(word) ?? [] };
}

function* memoryOf(pid: number): Generator<Buffer> {
  const memory = openOrNone(`/proc/${pid}/mem`);
  if (memory === undefined) return;
  try {
    for (const line of readOrNone(`/proc/${pid}/maps`).split("\n")) {
      const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) r/.exec(line) ?? [];
      if (from === undefined || to === undefined || line.includes("[vvar")) continue;
      const [start, end] = [BigInt(`0x${from}`), BigInt(`0x${to}`)];
      const bytes = Buffer.alloc(Math.min(Number(end - start), 256 * 2 ** 20));
      try {
        yield bytes.subarray(0, readSync(memory, bytes, 0, bytes.length, start));
      } catch {
        // Not every page that says so can be read.
      }
    }
  } finally {
    closeSync(memory);
  }
}

/** Sandboxes come and go, and so do their files. What is larger is a sandbox's disk, searched from inside. */
function isRegular(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.isFile() === true && found.size < 64 * 2 ** 20;
}

function walk(dir: string): string[] {
  try {
    return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
      const path = join(dir, entry.name);
      return entry.isDirectory() ? [path, ...walk(path)] : [path];
    });
  } catch {
    return [];
  }
}

/** Who has ended since has no memory. */
function openOrNone(path: string): number | undefined {
  try {
    return openSync(path, "r");
  } catch {
    return undefined;
  }
}

function readOrNone(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
