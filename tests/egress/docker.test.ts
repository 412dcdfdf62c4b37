import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { importTestImage, TEST_IMAGE } from "../conformance/docker-image.ts";
import { WORLD } from "./lab/lab.ts";
import { type Bench, openBench, text } from "./lab/sandbox.ts";

const { describe, given } = await requires("docker", "boxd", "egress-lab");

describe("a guarded network in a container", () => {
  let bench: Bench;
  let sandbox: Sandbox;
  beforeAll(async () => {
    await importTestImage(given.docker);
    bench = await openBench({ DOCKER_HOST: given.docker.host });
    await bench.lab.name("api.allowed.test", [WORLD]);
    await bench.lab.name("raw.allowed.test", [WORLD]);
    const rules = [
      { host: "api.allowed.test", protocol: "http" as const },
      { host: "raw.allowed.test", protocol: "tcp" as const, ports: [7000] },
    ];
    sandbox = await bench.sandbox({ rules }, { image: { kind: "oci", ref: TEST_IMAGE } });
  });
  afterAll(() => bench.close());
  beforeEach(() => bench.lab.clear());

  /** With what the small image has: a shell that can open a connection. */
  const get = async (host: string) => {
    const request = `GET /x HTTP/1.1\\r\\nHost: ${host}\\r\\nConnection: close\\r\\n\\r\\n`;
    const line = `exec 3<>/dev/tcp/${host}/80; printf '${request}' >&3; cat <&3`;
    return text((await sandbox.run(["bash", "-c", line], { timeoutMs: 60_000 })).stdout);
  };

  it("reaches an allowed host, read and unread", async () => {
    expect(await get("api.allowed.test")).toContain("hello from api.allowed.test\n");
    const line = "exec 3<>/dev/tcp/raw.allowed.test/7000; echo hi >&3; head -1 <&3";
    expect(text((await sandbox.run(["bash", "-c", line])).stdout)).toBe("hi\n");
  });

  it("EG-1 EG-3 reaches nothing else, by name or by address", async () => {
    await bench.lab.settle();
    await bench.lab.clear();
    const before = await bench.lab.look();
    expect(await get("evil.test")).toContain("403 Forbidden");
    const to = [WORLD, "1.1.1.1", "198.19.3.3"].flatMap((host) =>
      [53, 80, 443].map((port) => `${host}/${port}`),
    );
    for (const place of to) {
      const { stdout } = await sandbox.run([
        "bash",
        "-c",
        `exec 3<>/dev/tcp/${place} && timeout 1 head -c1 <&3 && echo in`,
      ]);
      expect(text(stdout)).toBe("");
      await sandbox.run(["bash", "-c", `echo hi > /dev/udp/${place}`]);
    }
    const after = await bench.lab.look();
    expect({ records: after.records, packets: after.packets - before.packets }).toEqual({
      records: [],
      packets: 0,
    });
  });

  it("gives no program the rights that laid the way", async () => {
    for (const user of ["user", "root"]) {
      const { stdout } = await sandbox.run(["sh", "-c", "grep -E 'Cap(Eff|Prm|Bnd)' /proc/self/status"], {
        user,
      });
      const sets = [...text(stdout).matchAll(/Cap\w+:\s+(\w+)/g)].map(([, hex]) => BigInt(`0x${hex}`));
      const [netAdmin, sysAdmin] = [1n << 12n, 1n << 21n];
      expect(sets).toHaveLength(3);
      for (const set of sets) expect(set & (netAdmin | sysAdmin)).toBe(0n);
    }
  });
});
