import { newSandboxId, SandboxerError } from "@sandboxer/contract";
import type { Connection } from "../_kit/boxd/index.ts";
import type { Hold } from "./hold.ts";
import type { Root } from "./root.ts";

/** hold ends what nobody has claimed by then; when this process goes, it ends them at once. */
const UNCLAIMED_TTL_MS = 600_000;
/** Making more waits until nobody has asked for this long: at once, it would take from who asks next. */
const QUIET_MS = 40;
/** Kinds of sandboxes kept at once; the one not asked for the longest gives way. */
const MOST_SHAPES = 4;

/** What hold is asked with. */
export interface CreateMembers {
  readonly id: string;
  readonly installation: string;
  readonly root: Root;
  readonly hostname: string;
  readonly env: Readonly<Record<string, string>>;
  readonly ttlMs: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly limits: unknown;
  readonly guarded?: boolean;
  readonly deniesRoot: boolean;
}

interface Ready {
  readonly connection: Connection;
  /** The id by which hold knows it, now. */
  name: string;
}

interface Shape {
  readonly members: CreateMembers;
  readonly size: number;
  readonly ready: Ready[];
}

/** Sandboxes made ahead, of the kinds that were asked for before. Each is claimed once, by one owner. */
export interface Pool {
  /** One made ahead that is now what the members say; nothing where there is none, or it failed. */
  claim(members: CreateMembers): Promise<Connection | undefined>;
  /** Such a one was asked for, and may be again; so many are to be ready then, as many as of any otherwise. */
  replenishLater(members: CreateMembers, wanted?: number): void;
  /** Ends all that nobody has claimed: they lie on what is to be removed. */
  giveUp(): Promise<void>;
  close(): Promise<void>;
}

type ExplainClose = (id: string) => Promise<SandboxerError>;

export function createPool(hold: Hold, size: number, explainClose: ExplainClose): Pool {
  const shapes = new Map<string, Shape>();
  let timer: NodeJS.Timeout | undefined;
  let filling: Promise<void> | undefined;
  let closed = false;

  const discard = (one: Ready): Promise<void> => endOne(hold, one);
  const drop = ({ ready }: Shape) => Promise.all(ready.splice(0).map(discard));

  const makeOne = async ({ members, ready }: Shape): Promise<void> => {
    const id = newSandboxId();
    const nobodys = { env: {}, labels: {}, ttlMs: UNCLAIMED_TTL_MS, pooled: true, tethered: true };
    await hold.tether(id);
    const one: Partial<Ready> & { name: string } = { name: id };
    const connection = await hold.create({ ...members, ...nobodys, id }, () => explainClose(one.name));
    const made: Ready = Object.assign(one, { connection });
    await (closed || !isWanted(ready) ? discard(made) : ready.push(made));
  };
  /** Whether its kind is still one of those that are kept. */
  const isWanted = (ready: Ready[]): boolean => [...shapes.values()].some((one) => one.ready === ready);
  const fill = async (): Promise<void> => {
    for (const shape of shapes.values()) {
      while (!closed && !timer && living(shape) < shape.size) await makeOne(shape);
    }
  };
  const schedule = (): void => {
    clearTimeout(timer);
    if (closed) return;
    timer = setTimeout(() => {
      timer = undefined;
      // What cannot be made ahead is made when it is asked for, and that says why not.
      filling = (filling ?? Promise.resolve()).then(fill).catch(() => {});
    }, QUIET_MS).unref();
  };

  const giveUp = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    const given = [...shapes.values()];
    shapes.clear();
    await filling;
    await Promise.all(given.map(drop));
  };

  return {
    async claim(members) {
      const shape = shapes.get(keyOf(members));
      const one = shape && takeFrom(shape, discard);
      if (!one) return undefined;
      const outcome = await handOver(hold, one, members);
      if (outcome === "its own") return one.connection;
      // The others are of the same folder.
      await Promise.all([discard(one), outcome === "of another folder" ? drop(shape) : undefined]);
      return undefined;
    },

    replenishLater(members, wanted = size) {
      const key = keyOf(members);
      const { ready = [] } = shapes.get(key) ?? {};
      if (wanted === 0 && ready.length === 0) return;
      const shape = { members, ready, size: wanted };
      shapes.delete(key);
      shapes.set(key, shape);
      const [oldest] = shapes;
      if (shapes.size > MOST_SHAPES && oldest) {
        shapes.delete(oldest[0]);
        void drop(oldest[1]);
      }
      schedule();
    },

    giveUp,
    async close() {
      closed = true;
      await giveUp();
    },
  };
}

/** Its owner's own when it is what the members say, in hold's eyes and in its own. */
async function handOver(
  hold: Hold,
  one: Ready,
  { id, ttlMs, labels, env }: CreateMembers,
): Promise<"its own" | "of another folder" | "failed"> {
  const [held, told] = await Promise.allSettled([
    hold.call("claim", { pooled: one.name, id, ttlMs, labels }),
    one.connection.call("claim", { id, env }),
  ]);
  hold.untether(one.name);
  if (held.status === "fulfilled") one.name = id;
  if (held.status === "fulfilled") return told.status === "fulfilled" ? "its own" : "failed";
  const { reason } = held;
  return SandboxerError.is(reason) && reason.code === "path_not_found" ? "of another folder" : "failed";
}

async function endOne(hold: Hold, { connection, name }: Ready): Promise<void> {
  connection.close();
  hold.untether(name);
  await hold.call("destroy", { id: name, graceMs: 0 }).catch(() => {});
}

/** One that lives; the others are thrown away. */
function takeFrom({ ready }: Shape, discard: (one: Ready) => unknown): Ready | undefined {
  for (let one = ready.shift(); one; one = ready.shift()) {
    if (!one.connection.isOver) return one;
    void discard(one);
  }
  return undefined;
}

/** Forgets those that have ended by themselves. */
function living({ ready }: Shape): number {
  const over = ready.filter(({ connection }) => connection.isOver);
  for (const one of over) ready.splice(ready.indexOf(one), 1);
  return ready.length;
}

/** Written once for each root, which is long and asked for again and again. */
const written = new WeakMap<Root, string>();

/** Everything but what a claim sets: two that differ in nothing else are the same before it. */
function keyOf({ installation, root, hostname, limits, deniesRoot, guarded }: CreateMembers): string {
  const rest = JSON.stringify([installation, hostname, limits, deniesRoot, guarded]);
  const known = written.get(root) ?? JSON.stringify(root);
  written.set(root, known);
  return rest + known;
}
