import { createHash } from "node:crypto";
import { above, type Fact, isCopy, isEqual, ON_ITS_WAY_MS, type Side } from "./facts.ts";

/** What both sides had when they last agreed, each as that side has it. */
export interface Base {
  readonly host: Side;
  readonly inside: Side;
}

/** Whose word counts at a path. `beside`: the host's does, and what is inside is kept under another name. */
export type Decision = "pull" | "push" | "beside";

export interface Merge {
  readonly decisions: ReadonlyMap<string, Decision>;
  /** Where what is inside is kept, by its path there. */
  readonly beside: ReadonlyMap<string, string>;
  /** Left alone on both sides: pipes, devices, folders that nobody may look into, and what is below. */
  readonly left: ReadonlySet<string>;
}

const LONGEST_NAME = 200;

/**
 * Compares three ways. Pure. Nothing that was changed on one side alone is lost, and where both
 * changed the same thing, both are kept: the host's under its name.
 */
export function merge(base: Base, host: Side, inside: Side): Merge {
  const paths = [
    ...new Set([...base.host.keys(), ...base.inside.keys(), ...host.keys(), ...inside.keys()]),
  ].sort((one, other) => depthOf(other) - depthOf(one));
  const left = leftAlone(paths, host, inside);
  const decisions = new Map<string, Decision>();
  const beside = new Map<string, string>();
  /** Folders in which something is going to be. */
  const needed = new Set<string>();
  for (const path of paths) {
    if (left.has(path)) {
      for (const folder of above(path)) needed.add(folder);
      continue;
    }
    const ours = host.get(path);
    const theirs = inside.get(path);
    let decision = decide(ours, theirs, base.host.get(path), base.inside.get(path));
    if (needed.has(path)) decision = asFolder(decision, ours, theirs);
    if (decision) decisions.set(path, decision);
    if (decision === "beside") beside.set(path, besideName(path, theirs));
    const stays = decision === "pull" ? theirs : ours;
    if (stays) for (const folder of above(path)) needed.add(folder);
  }
  moveAside(decisions, beside, host, inside);
  return { decisions, beside, left };
}

/** The first time: everything of the host's goes in, and what the image has there is the image's. */
export function hostOnly(_base: Base, host: Side, inside: Side): Merge {
  const left = leftAlone([...host.keys()], host, inside);
  const going = [...host.keys()].filter((path) => !left.has(path));
  return { decisions: new Map(going.map((path) => [path, "push"])), beside: new Map(), left };
}

function decide(
  host: Fact | undefined,
  inside: Fact | undefined,
  oldHost: Fact | undefined,
  oldInside: Fact | undefined,
): Decision | undefined {
  const isHostChanged = !isEqual(host, oldHost);
  const isInsideChanged = oldInside?.mtimeMs !== ON_ITS_WAY_MS && !isEqual(inside, oldInside);
  if (!isHostChanged) return isInsideChanged ? "pull" : undefined;
  if (!isInsideChanged) return "push";
  if (isCopy(host, inside) || isCopy(inside, host)) return undefined;
  if (host === undefined) return "pull";
  if (inside === undefined) return "push";
  return host.type === "directory" && inside.type === "directory" ? "push" : "beside";
}

/** Something below it stays, so it has to be a folder: on the side where it is one. */
function asFolder(decision: Decision | undefined, host?: Fact, inside?: Fact): Decision | undefined {
  if (decision === "pull" && inside?.type !== "directory" && host?.type === "directory") {
    return inside === undefined ? "push" : "beside";
  }
  if (decision === "push" && host === undefined && inside?.type === "directory") return "pull";
  return decision;
}

/** What is to come back from below something that is no folder on the host goes beside that. */
function moveAside(
  decisions: Map<string, Decision>,
  beside: Map<string, string>,
  host: Side,
  inside: Side,
): void {
  for (const [path, decision] of decisions) {
    if (decision !== "pull" || !inside.has(path)) continue;
    const blocking = [...above(path)].reverse().find((folder) => {
      const stays = decisions.get(folder) === "pull" ? inside.get(folder) : host.get(folder);
      return stays !== undefined && stays.type !== "directory";
    });
    if (blocking === undefined) continue;
    decisions.set(path, "beside");
    const name = beside.get(blocking) ?? besideName(blocking, inside.get(blocking));
    beside.set(path, name + path.slice(blocking.length));
  }
}

/** The same for the same thing, so that one who is asked twice leaves one copy. */
function besideName(path: string, fact: Fact | undefined): string {
  const print = createHash("sha256").update(JSON.stringify([path, fact?.size, fact?.mtimeMs, fact?.target]));
  const cut = path.lastIndexOf("/") + 1;
  const name = path.slice(cut);
  return `${path.slice(0, cut)}${name.slice(0, LONGEST_NAME)}.conflict-${print.digest("hex").slice(0, 8)}`;
}

function leftAlone(paths: readonly string[], host: Side, inside: Side): Set<string> {
  const tops = new Set<string>();
  for (const side of [host, inside]) {
    for (const [path, { type, mode }] of side) {
      if (type === "other" || (type === "directory" && (mode & 0o500) !== 0o500)) tops.add(path);
    }
  }
  if (tops.size === 0) return tops;
  return new Set(paths.filter((path) => tops.has(path) || [...above(path)].some((one) => tops.has(one))));
}

const depthOf = (path: string): number => path.split("/").length;
