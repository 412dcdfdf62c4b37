import { type Mirror, SandboxerError, type Synced } from "@sandboxer/contract";
import { type Fact, isCopy, isEqual, ON_ITS_WAY_MS, remembered, type Side, UNSURE_MS } from "./facts.ts";
import type { HostFolder, Landed } from "./host-folder.ts";
import type { InsideFolder } from "./inside.ts";
import { type Base, hostOnly, type Merge, merge } from "./merge.ts";

const TRIES = 3;
const TOLD_AT_MOST = 1_000;

interface Kept {
  read(): Promise<Base>;
  write(base: Base): Promise<void>;
}

/** One look at a side, and when it began. */
interface Look {
  readonly side: Side;
  readonly atMs: number;
}

/**
 * Brings both sides to the same. The host's folder is written all or nothing, and only where it
 * still is what it was when it was looked at. What was agreed on is remembered last: whoever dies
 * before compares again, and finds equal what is.
 */
export function openMirror(
  host: HostFolder,
  inside: InsideFolder,
  kept: Kept,
): Mirror & { seed(): Promise<Synced> } {
  const attempt = async (compare: typeof merge = merge): Promise<Synced | undefined> => {
    const [ours, theirs] = await Promise.all([look(() => host.list()), look(() => inside.list())]);
    // Where the whole folder is gone nobody has said what of it was to go.
    const base = theirs ? await kept.read() : { host: new Map(), inside: new Map() };
    const before = { host: ours ?? none(), inside: theirs ?? none() };
    const merged = compare(base, before.host.side, before.inside.side);
    const landed = await pull(merged, before.host.side, before.inside.side);
    if (landed && landed.changed.length > 0) return undefined;
    const leaving = leavingOf(merged, before.host.side, before.inside.side);
    const pushed = leaving.paths.length + leaving.gone.length;
    if (pushed > 0 || !theirs) {
      await kept.write(onItsWay(base, leaving));
      await inside.unpack(host.pack(inside.leaving(leaving.paths, leaving.gone)));
    }
    const after = {
      host: landed ? ((await look(() => host.list())) ?? none()) : before.host,
      inside: pushed > 0 ? ((await look(() => inside.list())) ?? none()) : before.inside,
    };
    await kept.write(agreed(base, merged, before, after));
    const { paths = [], kept: keptAs = [], heldBack = [], skipped = 0 } = landed ?? {};
    return { pulled: paths.slice(0, TOLD_AT_MOST), pushed, kept: keptAs, heldBack, skipped };
  };

  const pull = async (
    { decisions, beside }: Merge,
    ours: Side,
    theirs: Side,
  ): Promise<Landed | undefined> => {
    const take = [];
    const gone = [];
    for (const [path, decision] of decisions) {
      if (decision === "push") continue;
      const was = ours.get(path);
      const name = beside.get(path);
      if (theirs.has(path)) take.push({ path, ...(name ? { beside: name } : was && { was }) });
      else if (was && decision === "pull") gone.push({ path, was });
    }
    if (take.length === 0 && gone.length === 0) return undefined;
    const archive = take.length > 0 ? await inside.pack(take.map(({ path }) => path)) : [END_OF_ARCHIVE];
    return host.land({ take, gone }, archive);
  };

  return {
    /** What the host has, over whatever the image had there; nothing comes back. */
    async seed() {
      const synced = await attempt(hostOnly);
      if (synced) return synced;
      throw new SandboxerError("internal", "a seed that brings something back");
    },
    async sync() {
      for (let tries = 0; tries < TRIES; tries++) {
        const synced = await attempt();
        if (synced) return synced;
      }
      throw new SandboxerError("conflict", "the folder does not stand still; nothing was brought back", {
        hint: "What the sandbox wrote is still in it: sync again when the folder is at rest.",
      });
    },
  };
}

/** Folders before what is in them; what goes, the other way round, as it was found. */
function leavingOf({ decisions }: Merge, ours: Side, theirs: Side): { paths: string[]; gone: string[] } {
  const paths = [];
  const gone = [];
  for (const [path, decision] of decisions) {
    if (decision === "pull") continue;
    const [here, there] = [ours.get(path), theirs.get(path)];
    if (here) paths.push(path);
    if (there && here?.type !== there.type) gone.push(path);
  }
  return { paths: paths.sort(), gone };
}

/** Who dies while it is written inside leaves half of it there, and that must not come back. */
function onItsWay(base: Base, { paths, gone }: { paths: string[]; gone: string[] }): Base {
  const inside = new Map(base.inside);
  const fact: Fact = { type: "file", mode: 0, size: 0, mtimeMs: ON_ITS_WAY_MS };
  for (const path of [...paths, ...gone]) inside.set(path, fact);
  return { host: base.host, inside };
}

const END_OF_ARCHIVE = new Uint8Array(1_024);
const none = (): Look => ({ side: new Map(), atMs: 0 });

async function look(list: () => Promise<Side | undefined>): Promise<Look | undefined> {
  const atMs = Date.now();
  const side = await list();
  return side && { side, atMs };
}

/** What each side is remembered to have. What is not sure is compared again the next time. */
function agreed(
  base: Base,
  { decisions, left }: Merge,
  before: { host: Look; inside: Look },
  after: { host: Look; inside: Look },
): Base {
  const side = (name: "host" | "inside", sends: "push" | "pull"): Map<string, Fact> => {
    const other = name === "host" ? "inside" : "host";
    const facts = new Map([...base[name]].filter(([path]) => left.has(path)));
    const { side: seen, atMs } = before[name];
    for (const path of new Set([...seen.keys(), ...after[name].side.keys()])) {
      if (left.has(path)) continue;
      const decision = decisions.get(path);
      const isWritten =
        decision !== undefined && (decision === "beside" ? name === "inside" : decision !== sends);
      const fact = isWritten
        ? landedAs(after[name].side.get(path), seen.get(path), before[other].side.get(path))
        : seen.get(path);
      if (fact) facts.set(path, remembered(fact, isWritten ? Number.POSITIVE_INFINITY : atMs));
    }
    return facts;
  };
  return { host: side("host", "push"), inside: side("inside", "pull") };
}

/** As it was, or the other side's; if it is neither, somebody has changed it meanwhile. */
function landedAs(now: Fact | undefined, was: Fact | undefined, source: Fact | undefined): Fact | undefined {
  const isTheirs = isCopy(now, source) || isCopy(source, now);
  if (now === undefined || isEqual(now, was) || isTheirs) return now;
  return { ...now, mtimeMs: UNSURE_MS };
}
