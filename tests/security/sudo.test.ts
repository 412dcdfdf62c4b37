import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Box, ExecInput } from "@sandboxer/contract";
import { afterAll, beforeAll, expect, it } from "vitest";
import { readOrNothing } from "../capabilities/processes.ts";
import { requires } from "../capabilities/requires.ts";
import { type Engine, openEngine, run, shell, start } from "./engine.ts";
import { hostPidOf, idMapOf, initPidOf, namespacesOf, processesIn } from "./host-view.ts";
import { findings } from "./posture/check.ts";
import { expectation, type Ids } from "./posture/expected.ts";
import { factsOf } from "./posture/facts.ts";

const { describe, given } = await requires("linux-userns", "boxd", "root", "subordinate-ids");

const LENT_FROM = 700_000;
const ok = { kind: "exited", code: 0 };
const refused = { kind: "exited", code: 1 };

for (const mode of ["root", "a user with subordinate ids"] as const) {
  describe(`sudo, engine run by ${mode}`, () => {
    let engine: Engine;
    let box: Box;
    let first: number;
    let ids: Ids;

    beforeAll(async () => {
      const owner = mode === "root" ? undefined : { ...given["subordinate-ids"], lentFrom: LENT_FROM };
      engine = await openEngine({ boxdPath: given.boxd.path, ...(owner && { owner, lentFrom: LENT_FROM }) });
      box = await engine.create();
      first = initPidOf(engine.dir, box.ref);
      ids = owner ?? { base: idMapOf(first)[0]?.[1] ?? 0 };
    });
    afterAll(() => engine.close());

    /** What stands after the command in `sh -c`, and how that ended. */
    const says = async (script: string, more: Partial<ExecInput> = {}) => {
      const { text, errors, exit } = await shell(box, script, more);
      return [text, errors, exit];
    };

    it("runs a command as root, or as whom it is told", async () => {
      expect(await says("sudo id -u; sudo -n true")).toEqual(["0\n", "", ok]);
      expect(await says("sudo -u nobody id -un")).toEqual(["nobody\n", "", ok]);
      expect(await says("sudo -u '#65534' -g nobody id 2>/dev/null; echo $?")).toEqual(["1\n", "", ok]);
      expect((await shell(box, "sudo apt-get --version")).text).toMatch(/^apt \d/);
      expect(await says("cd /var && sudo pwd; sudo -D /usr pwd; sudo -i pwd")).toEqual([
        "/var\n/usr\n/root\n",
        "",
        ok,
      ]);
      expect(await says("sudo sh -c 'touch /etc/by-root && chown user /etc/by-root'")).toEqual(["", "", ok]);
      expect((await shell(box, "echo mine >> /etc/by-root; sudo cat /etc/by-root")).text).toBe("mine\n");
    });

    it("passes streams, codes and signals", async () => {
      expect(await says("echo in | sudo sh -c 'cat; echo err >&2; exit 7'")).toEqual([
        "in\n",
        "err\n",
        { kind: "exited", code: 7 },
      ]);
      expect((await run(box, ["sudo", "sh", "-c", "kill -KILL $$"])).exit).toEqual({
        kind: "signalled",
        signal: "KILL",
      });
      const program = await start(box, {
        argv: ["sudo", "sh", "-c", 'trap "echo caught; exit 3" TERM; echo up; while :; do sleep 0.05; done'],
      });
      let shown = "";
      for await (const event of program.events) {
        if (event.type === "exit") expect(event.exit).toEqual({ kind: "exited", code: 3 });
        if (event.type !== "stdout") continue;
        shown += Buffer.from(event.data).toString();
        if (shown === "up\n") await program.signal("TERM");
      }
      expect(shown).toBe("up\ncaught\n");
    });

    it("gives the program a terminal of its own, and the caller's back as it was", async () => {
      const script =
        "sudo sh -c 'tty; stty size; read line </dev/tty; echo got $line'; stty -a | grep -c ' icanon'";
      const pty = { cols: 91, rows: 37 };
      const program = await start(box, { argv: ["sh", "-c", script], pty, stdin: true, timeoutMs: 60_000 });
      let shown = "";
      for await (const event of program.events) {
        if (event.type === "exit") expect(event.exit).toEqual(ok);
        else shown += Buffer.from(event.data).toString();
        if (shown.endsWith("37 91\r\n")) await program.writeStdin(Buffer.from("hello\r"));
      }
      expect(shown).toMatch(/^\/dev\/pts\/\d+\r\n37 91\r\nhello\r\ngot hello\r\n1\r\n$/);
    });

    it("drops the caller's variables but those that cannot hurt", async () => {
      const env = { SECRET: "s", LD_PRELOAD: "/x.so", BASH_ENV: "/x", LC_ALL: "C", TERM: "dumb" };
      const kept = (await shell(box, "sudo A=1 env", { env })).text.trim().split("\n").sort();
      const names = "A HOME LC_ALL LOGNAME PATH SHELL SUDO_COMMAND SUDO_GID SUDO_UID SUDO_USER TERM USER";
      expect(kept.map((line) => line.split("=")[0])).toEqual(names.split(" "));
      expect(kept).toContain("HOME=/root");
      const all = (await shell(box, "sudo -E env", { env })).text;
      expect(all).toContain("SECRET=s");
      expect(all).not.toMatch(/LD_PRELOAD|BASH_ENV/);
    });

    it("PO-1 gives exactly the posture of the sandbox's root, and no new privileges", async () => {
      const program = await start(box, { argv: ["sudo", "-u", "root", "sleep", "600"] });
      const inside = () => processesIn(namespacesOf(first).pid as string);
      const isSleep = (pid: number) => readOrNothing(`/proc/${pid}/cmdline`) === "sleep\x00600\0";
      await expect.poll(() => inside().filter(isSleep).length).toBe(1);
      const pid = inside().find(isSleep) ?? 0;
      const expected = expectation("root", ids, factsOf(first));
      const environment = [
        ...expected.environment,
        ...["SUDO_COMMAND=sleep 600", "SUDO_GID=1000", "SUDO_UID=1000", "SUDO_USER=user"],
      ];
      expect(findings(factsOf(pid), { ...expected, environment })).toEqual([]);
      // The client itself has no more rights than any other program.
      const client = factsOf(hostPidOf(first, program.pid ?? 0));
      expect(client.threads.map(({ CapEff, NoNewPrivs }) => [CapEff, NoNewPrivs])).toEqual([
        ["0000000000000000", "1"],
      ]);
      await program.signal("KILL");
      await expect.poll(() => inside().filter(isSleep)).toEqual([]);
    });

    it("RL-8 ends with the command that called it, whatever it started", async () => {
      const script = "sudo sh -c 'trap \"\" TERM HUP; setsid sleep 601 & (sleep 602 &); sleep 603'";
      const { exit } = await shell(box, script, { timeoutMs: 700 });
      expect(exit).toEqual({ kind: "timeout" });
      const left = () =>
        processesIn(namespacesOf(first).pid as string).filter((pid) =>
          readOrNothing(`/proc/${pid}/cmdline`).startsWith("sleep\x0060"),
        );
      await expect.poll(left).toEqual([]);
    });

    it("says in one line why it does not, and exits with 1", async () => {
      const why = {
        "sudo no-such-program": "sudo: no-such-program: command not found\n",
        "sudo -u ghost id": 'sudo: user "ghost": not in /etc/passwd\n',
        "sudo -u 70000 id": 'sudo: user "70000": not in /etc/passwd\n',
        "sudo --edit x": "sudo: unknown option --edit\n",
      };
      for (const [script, line] of Object.entries(why))
        expect(await says(script)).toEqual(["", line, refused]);
    });

    it("believes the kernel about who asks, and refuses others than `user` and root", async () => {
      const line = "sudo: the user with the id 65534 may not become another\n";
      const asNobody = { user: "nobody", cwd: "/", env: { USER: "root", SUDO_UID: "0" } };
      expect(await says("sudo id", asNobody)).toEqual(["", line, refused]);
      expect(await says("sudo sudo -u user id -un")).toEqual(["user\n", "", ok]);
      const guest = await box.users?.admit(60_001);
      const asGuest = await shell(box, "id -u; sudo id", { user: guest, cwd: "/" });
      expect([asGuest.text, asGuest.exit], "a read-only attachment").toEqual(["60001\n", refused]);
    });

    it("refuses everybody where root is denied", async () => {
      const denied = await engine.create(undefined, {}, { root: "denied" });
      const { text, errors, exit } = await shell(denied, "sudo -n id; sudo -u nobody id");
      const line = "sudo: root is denied in this sandbox\n";
      expect([text, errors, exit]).toEqual(["", line.repeat(2), refused]);
      await expect(start(denied, { argv: ["id"], user: "root" })).rejects.toMatchObject({
        code: "permission_denied",
      });
      await expect(denied.users?.admit(60_001)).rejects.toMatchObject({ code: "unsupported" });
      await engine.destroy(denied);
    });

    it("FD-4 can be changed by nobody but the sandbox's root, and by that for itself alone", async () => {
      const other = await engine.create();
      const change = "echo x >> /run/boxd/bin/sudo";
      expect((await shell(other, change)).exit).not.toEqual(ok);
      expect((await shell(other, change, { user: "root" })).exit).toEqual(ok);
      const tools = join(engine.dir, "tools");
      const place = join(tools, readdirSync(tools)[0] ?? "", "ours/run/boxd/bin/sudo");
      expect(readFileSync(place).equals(readFileSync(given.boxd.path))).toBe(true);
      await engine.destroy(other);
    });

    it("FD-5 leaves nothing open", async () => {
      const open = () => readdirSync(`/proc/${first}/fd`).length;
      await shell(box, "sudo true");
      const before = open();
      await shell(
        box,
        "for i in $(seq 100); do sudo true; done; for i in $(seq 30); do sudo sleep 0.1 & done; wait",
      );
      await expect.poll(open).toBeLessThanOrEqual(before + 1);
    });
  });
}

describe("sudo where there is one user", () => {
  it("says so", async () => {
    const engine = await openEngine({ boxdPath: given.boxd.path, owner: given["subordinate-ids"] });
    try {
      const { errors, exit } = await shell(await engine.create(), "sudo true");
      expect([errors, exit]).toEqual(["sudo: this sandbox has one user and no root\n", refused]);
    } finally {
      await engine.close();
    }
  });
});
