import type { RequestListener } from "node:http";
import { describe, expect, it } from "vitest";
import { toldDaemon } from "../../test/told-daemon.ts";
import { openDockerApi } from "./api.ts";

const daemon = async (answer: RequestListener, patienceMs?: number) =>
  openDockerApi((await toldDaemon(answer)).socketPath, patienceMs);

describe("a docker daemon", () => {
  it("answers with JSON, with words, and line by line (control)", async () => {
    const api = await daemon((asked, answer) => {
      if (asked.url?.endsWith("/lines")) return void answer.end('{"a":1}\n{"b":2}\n');
      answer.writeHead(asked.url?.endsWith("/words") ? 500 : 200);
      answer.end(asked.url?.endsWith("/words") ? "no" : '{"a":1}');
    });
    expect(await api.call("GET", "/json")).toEqual({ status: 200, body: { a: 1 } });
    expect(await api.call("GET", "/words")).toEqual({ status: 500, body: "no" });
    const lines: string[] = [];
    expect(await api.stream("POST", "/lines", (line) => lines.push(line))).toBe(200);
    expect(lines).toEqual(['{"a":1}', '{"b":2}']);
  });

  it("RE-6 that breaks off in the middle of an answer is one that cannot be reached", async () => {
    const api = await daemon((_, answer) => {
      answer.write('[{"Id":"1"},\n');
      setImmediate(() => answer.destroy());
    });
    const unavailable = { code: "extension_unavailable" };
    await expect(api.call("GET", "/containers/json")).rejects.toMatchObject(unavailable);
    const lines: string[] = [];
    await expect(api.stream("POST", "/images/create", (line) => lines.push(line))).rejects.toMatchObject(
      unavailable,
    );
    expect(lines).toEqual(['[{"Id":"1"},']);
  });

  it.each([
    ["never answers", () => {}],
    ["begins to answer and goes no further", ((_, answer) => void answer.write("[")) as RequestListener],
  ])("RE-6 that %s is not waited for without end", async (_, answer) => {
    const api = await daemon(answer, 50);
    await expect(api.call("GET", "/containers/json")).rejects.toMatchObject({
      code: "extension_unavailable",
      message: expect.stringContaining("does not answer"),
    });
  });

  it("is left in the middle of its lines when there is no more time, and that is what is said", async () => {
    const leaving = new AbortController();
    const api = await daemon((_, answer) => void answer.write('{"status":"Pulling"}\n'));
    const streaming = api.stream("POST", "/images/create", () => leaving.abort(), leaving.signal);
    await expect(streaming).rejects.toMatchObject({ code: "deadline_exceeded" });
  });
});
