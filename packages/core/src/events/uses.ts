import { type Files, SandboxerError } from "@sandboxer/contract";
import type { Report } from "../report.ts";
import type { Journal } from "./journal.ts";

const GATHER_MS = 10_000;
const LONGEST_TARGET = 128;
const MOST_TARGETS = 10;

/** Who uses what of a sandbox, and through which attachment. */
export interface Use {
  readonly type: "files.read" | "files.written" | "port.reached";
  readonly orgId: string;
  readonly sandboxId: string;
  readonly principalId: string;
  readonly attachmentId: string;
}

export interface Uses {
  /** Refuses when the log cannot be written: nothing is done that would go unrecorded. */
  record(use: Use, target: string): Promise<void>;
  /** Writes what has been counted of a sandbox, before the log tells of its end. */
  end(sandboxId: string): void;
  close(): void;
}

interface Counted {
  readonly use: Use;
  readonly timer: NodeJS.Timeout;
  times: number;
  readonly targets: Set<string>;
}

/**
 * What is done with files and ports is in the log as what is run is: the first of its kind at once,
 * those that follow within ten seconds as one entry with their number and the first few targets.
 */
export function createUses(journal: Journal, nowMs: () => number, report: Report): Uses {
  const counted = new Map<string, Counted>();
  const write = (use: Use, times: number, targets: readonly string[]) => {
    const { type, orgId, sandboxId, principalId, attachmentId } = use;
    const data = { attachmentId, targets, ...(times > 1 && { times }) };
    return journal.record({ type, orgId, atMs: nowMs(), sandboxId, principalId, data });
  };
  const end = (key: string): void => {
    const kind = counted.get(key);
    counted.delete(key);
    clearTimeout(kind?.timer);
    if (!kind || kind.times === 0) return;
    write(kind.use, kind.times, [...kind.targets]).catch((error) =>
      report("recording what was used", SandboxerError.from(error)),
    );
  };
  return {
    async record(use, asked) {
      const { type, sandboxId, attachmentId } = use;
      const key = `${sandboxId} ${attachmentId} ${type}`;
      const target = asked.slice(0, LONGEST_TARGET);
      const known = counted.get(key);
      if (known) {
        known.times++;
        if (known.targets.size < MOST_TARGETS) known.targets.add(target);
        return;
      }
      const timer = setTimeout(end, GATHER_MS, key).unref();
      counted.set(key, { use, timer, times: 0, targets: new Set() });
      await write(use, 1, [target]);
    },
    end(sandboxId) {
      for (const [key, { use }] of counted) if (use.sandboxId === sandboxId) end(key);
    },
    close() {
      for (const key of [...counted.keys()]) end(key);
    },
  };
}

/** The same files, with every use told of before it happens. */
export function recordedFiles(
  files: Files,
  told: (type: "files.read" | "files.written", path: string) => Promise<void>,
): Files {
  const after =
    <Given extends [string, ...unknown[]], Result>(
      type: "files.read" | "files.written",
      act: (...given: Given) => Promise<Result>,
    ) =>
    async (...given: Given): Promise<Result> => {
      await told(type, given[0]);
      return act.apply(files, given);
    };
  return {
    read: after("files.read", files.read),
    stat: after("files.read", files.stat),
    list: after("files.read", files.list),
    xattrs: after("files.read", files.xattrs),
    watch: after("files.read", files.watch),
    pack: after("files.read", files.pack),
    write: after("files.written", files.write),
    mkdir: after("files.written", files.mkdir),
    move: after("files.written", files.move),
    remove: after("files.written", files.remove),
    chmod: after("files.written", files.chmod),
    symlink: after("files.written", files.symlink),
    setXattr: after("files.written", files.setXattr),
    removeXattr: after("files.written", files.removeXattr),
    unpack: after("files.written", files.unpack),
  };
}
