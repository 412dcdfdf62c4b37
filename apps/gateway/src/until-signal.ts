import type { Gateway } from "./compose.ts";

/** Runs until SIGINT or SIGTERM, then closes in order. A second signal does not wait. */
export async function untilSignal(gateway: Gateway, say: (line: string) => void): Promise<void> {
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
  const signals = ["SIGINT", "SIGTERM"] as const;
  for (const signal of signals) {
    process.once(signal, () => {
      for (const again of signals) process.on(again, () => process.exit(1));
      ask();
    });
  }
  await asked;
  say("Closing. Sandboxes are left running until their time is up; `sandboxer ls` shows them.");
  await gateway.close();
}
