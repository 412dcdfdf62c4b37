const SAY_EVERY_MS = 500;

export interface Progress {
  add(bytes: number): void;
  /** What counts only if it succeeds. */
  attempt(): { add(bytes: number): void; takeBack(): void };
}

/** Now and then, how much of it is here. */
export function createProgress(name: string, total: number, say: (message: string) => void): Progress {
  let done = 0;
  let saidAtMs = performance.now();
  const mib = (bytes: number) => (bytes / 2 ** 20).toFixed(1);
  const add = (bytes: number): void => {
    done += bytes;
    if (performance.now() - saidAtMs < SAY_EVERY_MS) return;
    saidAtMs = performance.now();
    say(`pulling ${name}: ${mib(done)} of ${mib(total)} MiB`);
  };
  return {
    add,
    attempt() {
      let own = 0;
      return {
        add(bytes) {
          own += bytes;
          add(bytes);
        },
        takeBack() {
          done -= own;
          own = 0;
        },
      };
    },
  };
}
