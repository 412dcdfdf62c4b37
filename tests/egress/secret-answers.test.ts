import type { Sandbox } from "@sandboxer/sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requires } from "../capabilities/requires.ts";
import { holds, KEY, MODEL } from "./lab/keys.ts";
import { WORLD } from "./lab/lab.ts";
import { type Bench, openBench, text } from "./lab/sandbox.ts";

const { describe } = await requires("linux-userns", "boxd", "egress-lab");

describe("SE-4 a secret that the far side sends back", () => {
  let bench: Bench;
  let sandbox: Sandbox;
  let placeholder: string;
  beforeAll(async () => {
    bench = await openBench();
    for (const name of ["model.test", "other.test"]) await bench.lab.name(name, [WORLD]);
    await bench.lab.accept(KEY);
    await bench.client.secrets.set("MODEL_KEY", { value: KEY, bindings: [MODEL] });
    sandbox = await bench.sandbox(
      { rules: [{ host: "model.test" }, { host: "other.test", inspect: true }] },
      { secrets: ["MODEL_KEY"] },
    );
    placeholder = text((await sandbox.run(["printenv", "MODEL_KEY"])).stdout).trim();
  });
  afterAll(() => bench.close());

  const reflected = async (path: string, ...more: string[]) => {
    const line = [
      "curl",
      "-s",
      "-i",
      "-H",
      `x-api-key: ${placeholder}`,
      ...more,
      `https://model.test${path}`,
    ];
    return text((await sandbox.run(line)).stdout);
  };

  it.each([
    ...["", "?coding=gzip", "?coding=br", "?coding=deflate", "?coding=zstd"].map(
      (query) => [query, 200] as const,
    ),
    ...[301, 401, 404, 500, 503].map((status) => [`?status=${status}`, status] as const),
    ["?status=502&coding=gzip", 502] as const,
    ["?hints", 200] as const,
  ])(
    "is masked in headers, status and body, cut anywhere, packed as it may be, in errors too: %s",
    async (query, status) => {
      await bench.lab.clear();
      const answer = await reflected(`/v1/reflect${query}`, "-d", "some body");
      const { records } = await bench.lab.look();
      expect(records.at(-1)?.headers, "control: the far side had it").toContain(KEY);
      expect(holds(answer, KEY)).toEqual([]);
      expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} seen ${placeholder}\r\n`));
      expect(answer).toMatch(new RegExp(`set-cookie: session=${placeholder}`, "i"));
      expect(answer).toMatch(new RegExp(`location: https://elsewhere.test/\\?key=${placeholder}`, "i"));
      expect(answer).toMatch(new RegExp(`^x-${placeholder}: named`, "im"));
      expect(answer).toContain(`\n${placeholder}\n`);
      expect(answer).toContain("some body");
      expect(answer).not.toMatch(/content-encoding/i);
    },
  );

  it("is masked in the answer that opens a WebSocket", async () => {
    const script = `
import socket, ssl, sys
plain = socket.create_connection(("other.test", 443), 60)
one = ssl._create_unverified_context().wrap_socket(plain, server_hostname="other.test")
one.sendall(b"GET /ws HTTP/1.1\\r\\nHost: other.test\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n\\r\\n")
got = b""
while b"\\r\\n\\r\\n" not in got: got += one.recv(4096)
print(got.decode())`;
    const answerTo = async (asking: Sandbox) =>
      text((await asking.run(["python3", "-c", script])).stdout).trim();
    const answer = await answerTo(sandbox);
    expect(holds(answer, KEY)).toEqual([]);
    const lines = answer.split(/\r?\n/);
    expect(lines[0]).toBe(`HTTP/1.1 101 Seen ${placeholder}`);
    expect(lines).toContain(`Set-Cookie: session=${placeholder}`);
    expect(lines).toContain(`X-${placeholder}: 1`);
    expect(lines.filter((line) => line.startsWith("Alt-Svc"))).toEqual([]);
    const stranger = await bench.sandbox({ rules: [{ host: "other.test" }] });
    const unread = await answerTo(stranger);
    expect(unread, "control: the far side says it, and leads elsewhere").toContain(`session=${KEY}`);
    expect(unread).toContain("Alt-Svc");
  });

  it("is not asked for in a way that cannot be read, and TRACE is not asked at all", async () => {
    await bench.lab.clear();
    await reflected("/v1/reflect", "-H", "accept-encoding: gzip, br, exotic");
    const { records } = await bench.lab.look();
    expect(records.at(-1)?.headers?.join("\n")).toMatch(/Accept-Encoding\nidentity/);
    expect(await reflected("/v1/x", "-X", "TRACE")).toContain("400 Bad Request");
  });

  it("does not hold up an answer that comes bit by bit", async () => {
    const { stdout } = await sandbox.run([
      "curl",
      "-s",
      "https://model.test/bytes/3000000",
      "-o",
      "/dev/null",
      "-w",
      "%{size_download}",
    ]);
    expect(text(stdout)).toBe("3000000");
  });
});
