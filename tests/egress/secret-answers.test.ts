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
    await bench.lab.name("model.test", [WORLD]);
    await bench.client.secrets.set("MODEL_KEY", { value: KEY, bindings: [MODEL] });
    sandbox = await bench.sandbox({ rules: [{ host: "model.test" }] }, { secrets: ["MODEL_KEY"] });
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
      expect(answer).toContain(`\n${placeholder}\n`);
      expect(answer).toContain("some body");
      expect(answer).not.toMatch(/content-encoding/i);
    },
  );

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
