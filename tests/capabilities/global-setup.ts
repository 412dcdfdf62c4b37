import { closeRunDirectory, openRunDirectory } from "./run-directory.ts";

/** Around a whole vitest run: whatever a capability started in the run's folder ends with it. */
export default function setup(): () => void {
  const directory = openRunDirectory();
  process.env.SANDBOXER_RUN_DIRECTORY = directory;
  const close = (): void => closeRunDirectory(directory);
  // Vitest leaves by exit on a second Ctrl-C, without calling teardowns.
  process.once("exit", close);
  return () => {
    process.off("exit", close);
    close();
  };
}
