import { describe, expect, it, vi } from "vitest";
import { createLogSync } from "./log-sync.ts";

/** A disk that takes a sync only when it is told to. */
function slowDisk() {
  const begun: PromiseWithResolvers<void>[] = [];
  const sync = () => {
    const one = Promise.withResolvers<void>();
    begun.push(one);
    return one.promise;
  };
  return { begun, log: createLogSync(sync, async () => {}) };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("the log's way to the disk", () => {
  it("RE-12 lets nobody go on before a sync that began after their commit is done", async () => {
    const { begun, log } = slowDisk();
    const done: string[] = [];
    void log.reached().then(() => done.push("first"));
    void log.reached().then(() => done.push("second"));
    begun[0]?.resolve();
    await turn();
    expect(done).toEqual(["first"]);
    expect(begun).toHaveLength(2);
    begun[1]?.resolve();
    await turn();
    expect(done).toEqual(["first", "second"]);
  });

  it("takes one sync for all who come while another is under way", async () => {
    const { begun, log } = slowDisk();
    const all = Promise.all(Array.from({ length: 50 }, () => log.reached()));
    begun[0]?.resolve();
    await turn();
    begun[1]?.resolve();
    await all;
    expect(begun).toHaveLength(2);
  });

  it("RE-12 refuses everything once a sync has failed, also what did not wait for it", async () => {
    const { begun, log } = slowDisk();
    log.start();
    const waiting = log.reached();
    begun[0]?.reject(new Error("EIO"));
    await expect(waiting).rejects.toMatchObject({ code: "internal" });
    await expect(log.reached()).rejects.toMatchObject({ code: "internal" });
    expect(begun).toHaveLength(1);
  });

  it("brings what nobody waits for to the disk soon, by itself and once for all of it", async () => {
    vi.useFakeTimers();
    const { begun, log } = slowDisk();
    for (let at = 0; at < 5; at += 1) log.start();
    expect(begun).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(20);
    expect(begun).toHaveLength(1);
    log.start();
    void log.reached();
    begun[0]?.resolve();
    await vi.advanceTimersByTimeAsync(20);
    expect(begun, "who waits takes along what does not").toHaveLength(2);
    vi.useRealTimers();
  });

  it("waits for what is under way before it closes", async () => {
    const { begun, log } = slowDisk();
    log.start();
    let closed = false;
    void log.close().then(() => {
      closed = true;
    });
    await turn();
    expect(closed).toBe(false);
    begun[0]?.resolve();
    await turn();
    expect(closed).toBe(true);
  });
});
