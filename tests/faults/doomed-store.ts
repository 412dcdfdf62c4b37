import { makeBlockStore } from "@sandboxer/gateway";

/** A program of its own: makes a store, and is killed at the place it is told. */
const [home = "", dieAt = ""] = process.argv.slice(2);
await makeBlockStore(home, {
  bytes: 2 ** 30,
  pass(place) {
    if (place === dieAt) process.kill(process.pid, "SIGKILL");
  },
});
