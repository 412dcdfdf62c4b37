import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { importTestImage } from "../conformance/docker-image.ts";
import { CLIENTS, REACHED, tryClient } from "./lab/clients.ts";
import { OTHER, WORLD } from "./lab/lab.ts";
import { makePackages } from "./lab/packages.ts";
import { type Bench, openBench, text } from "./lab/sandbox.ts";
import { type Keys, verdicts } from "./lab/sigv4.ts";
import { makeKey, type Sshd, startSshd } from "./lab/sshd.ts";

const wanted = ["docker", "boxd", "egress-lab", "egress-clients", "sshd"] as const;
const { describe, given } = await requires(...wanted);

vi.setConfig({ testTimeout: 180_000, hookTimeout: 400_000 });
const PATIENCE = { timeout: 60_000, interval: 100 };
const IMAGE = "sandboxer-clients:1";
/** They open nothing anywhere. */
const CLOUD: Keys = { id: "AKIALABCLABCLABCLABC", secret: "lab/Docker+0123456789abcdefghijklmnopqrs" };

describe("programs in a container that know of no guard", () => {
  let bench: Bench;
  let sandbox: Sandbox;
  let ours: Sshd;
  let theirs: Sshd;
  const dir = mkdtempSync(join(tmpdir(), "sandboxer-docker-clients-"));
  beforeAll(async () => {
    // npm may have renewed itself since its package was installed.
    const npm = dirname(dirname(realpathSync("/usr/bin/npm")));
    const [owner = ""] = execFileSync("/usr/bin/dpkg", ["-S", "/usr/bin/npm"], { encoding: "utf8" }).split(
      ":",
    );
    const packages = ["git", "python3-pip", "openssh-client", "nodejs", owner];
    await importTestImage(given.docker, IMAGE, { packages, folders: [npm] });
    bench = await openBench({ DOCKER_HOST: given.docker.host });
    await makePackages(dir, given["egress-clients"].go);
    await bench.lab.serve(dir);
    const names = ["registry.test", "files.test", "other.test", "curl.test", "git.test"];
    for (const name of names) await bench.lab.name(name, [WORLD]);
    for (const name of ["evil.test", "wrong.test"]) await bench.lab.name(name, [OTHER]);
    const key = makeKey(join(dir, "deploy"), "ed25519");
    const place = { path: given.sshd.path, authorized: [key.public] };
    ours = await startSshd(bench.lab, { ...place, dir: join(dir, "ours"), address: WORLD });
    theirs = await startSshd(bench.lab, { ...place, dir: join(dir, "theirs"), address: OTHER });
    await bench.client.secrets.set("CLOUD", {
      value: `${CLOUD.id}:${CLOUD.secret}`,
      bindings: [{ host: "files.test", place: { in: "aws-sigv4", region: "lab-north-1", service: "s3" } }],
    });
    const signs = { in: "ssh" as const, sign: "allow" as const, hostKeys: [ours.fingerprint] };
    await bench.client.secrets.set("DEPLOY", {
      value: key.private,
      bindings: [{ host: "git.test", place: signs }],
    });
    const rules = [
      { host: "registry.test", access: "read-only" as const },
      ...[{ host: "files.test" }, { host: "other.test", inspect: true }],
      { host: "curl.test", inspect: true, binaries: ["/bin/curl"] },
      ...["git.test", "wrong.test"].map((host) => ({ host, protocol: "tcp" as const, ports: [22] })),
    ];
    const image = { kind: "oci" as const, ref: IMAGE };
    sandbox = await bench.sandbox({ rules }, { image, secrets: ["CLOUD", "DEPLOY"] });
    await sandbox.files.write("/home/user/fetch", [readFileSync(join(dir, "fetch"))], { mode: 0o755 });
    const known = `git.test ${ours.hostKey}\nwrong.test ${theirs.hostKey}\n`;
    await sandbox.files.write("/home/user/known", [new TextEncoder().encode(known)]);
  });
  afterAll(async () => {
    ours?.close();
    theirs?.close();
    await bench?.close();
    rmSync(dir, { recursive: true, force: true });
  });
  beforeEach(() => bench.lab.clear());

  const say = async (line: string) =>
    text((await sandbox.run(["sh", "-c", line], { timeoutMs: 60_000 })).stdout);
  const requests = async () => (await bench.lab.look()).records.filter(({ kind }) => kind === "request");

  it.each(Object.keys(CLIENTS))("EG-2 %s reaches an allowed host and no other", async (name) => {
    expect(await tryClient(bench.lab, sandbox, name)).toEqual(REACHED);
  });

  it("SE-2 what is signed inside arrives signed by the real key, and goes nowhere else", async () => {
    const signed = (host: string) =>
      say(
        `curl -s -o /dev/null -w '%{http_code}' --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" --aws-sigv4 aws:amz:lab-north-1:s3 https://${host}/bucket/a`,
      );
    expect(await signed("other.test")).toBe("403");
    expect(await requests()).toEqual([]);
    expect(await signed("files.test")).toBe("200");
    const seen = await requests();
    expect(verdicts(seen, CLOUD)).toEqual(["right"]);
    const inside = await say("printenv AWS_SECRET_ACCESS_KEY");
    expect(verdicts(seen, { ...CLOUD, secret: inside.trim() }), "control").toEqual(["wrong"]);
    expect(inside).not.toContain(CLOUD.secret);
  });

  it("SE-1 a key logs in on its host through the agent inside, and nowhere else", async () => {
    const ssh = (host: string) =>
      say(
        `ssh -o UserKnownHostsFile=/home/user/known -o BatchMode=yes -o ConnectTimeout=30 root@${host} echo in`,
      );
    expect(await ssh("git.test")).toBe("in\n");
    await expect.poll(() => ours.log(), PATIENCE).toContain("Accepted publickey for root");
    expect(await ssh("wrong.test")).toBe("");
    await expect.poll(() => theirs.log(), PATIENCE).toContain("Connection from");
    expect(theirs.log()).not.toContain("Accepted publickey");
    expect(await say("ssh-add -L | wc -l; grep -rls 'PRIVATE KEY' /home /tmp /run /etc; true")).toBe("1\n");
  });

  it("a rule for a program lets it through and no other, and the log says which it was", async () => {
    expect(await say("curl -s https://curl.test/")).toBe("hello from curl.test\n");
    expect(await say("cp /bin/curl other; ./other -sf https://curl.test/")).toBe("");
    expect(await requests()).toHaveLength(1);
    const noted = async () =>
      (await sandbox.networkCalls()).calls
        .filter(({ host }) => host === "curl.test")
        .map(({ binary, verdict }) => `${verdict} ${binary}`);
    await expect.poll(noted, PATIENCE).toEqual(["allowed /bin/curl", "denied /home/user/other"]);
  });
});
