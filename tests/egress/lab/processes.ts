import { readdirSync, readFileSync } from "node:fs";

/** The processes of this bench's guard whose command line says so. */
export function guardProcesses(home: string, what: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
        return line.includes(`${home}/guard`) && line.includes(what) && !line.startsWith("nsenter");
      } catch {
        return false;
      }
    });
}
