import type { Socket } from "node:net";
import type { Asked } from "../policy/decide.ts";
import { chargeOrder } from "./budgets.ts";
import type { Diary } from "./diary.ts";
import type { Relay, RelayEvent } from "./relay.ts";
import type { Tunnel, Ward } from "./ward.ts";

type Over = Extract<RelayEvent, { event: "over" }>;

/** What the relay carries by our word, each for as long as it lasts. */
export class Tunnels {
  readonly #relay: Relay;
  readonly #diary: Diary;
  /** Those that the relay has told of. One may be over before it is decided: nothing of it is kept then. */
  readonly #living = new Set<number>();
  readonly #wardOf = new Map<number, Ward>();
  /** What is done with those that the guard reads, once the relay brings them. */
  readonly #takers = new Map<number, (socket: Socket) => void>();
  /** Those that wait for somebody's word, and what to do when they do not any more. */
  readonly #waiting = new Map<number, () => void>();

  constructor(relay: Relay, diary: Diary) {
    this.#relay = relay;
    this.#diary = diary;
  }

  begin(tunnel: number): void {
    this.#living.add(tunnel);
  }

  isLiving(tunnel: number): boolean {
    return this.#living.has(tunnel);
  }

  keep(ward: Ward, tunnel: number, kept: Tunnel): void {
    if (!this.isLiving(tunnel)) return;
    ward.tunnels.set(tunnel, kept);
    this.#wardOf.set(tunnel, ward);
  }

  /** Whoever goes there pays from now on. */
  charge(ward: Ward, tunnel: number, place: Asked | undefined): void {
    const order = chargeOrder(ward, tunnel, place);
    if (order) this.#relay.order(order);
  }

  read(tunnel: number, take: (socket: Socket) => void): void {
    if (this.isLiving(tunnel)) this.#takers.set(tunnel, take);
    this.#relay.order({ op: "inspect", tunnel });
  }

  /** The relay brings one that is to be read. */
  take(tunnel: number, socket: Socket): void {
    const take = this.#takers.get(tunnel);
    if (take) take(socket);
    else socket.destroy();
  }

  /** It waits while `work` goes on, which is told when its program has left. */
  hold<T>(tunnel: number, work: (left: Promise<void>) => Promise<T>): Promise<T> {
    const left = Promise.withResolvers<void>();
    if (this.isLiving(tunnel)) this.#waiting.set(tunnel, left.resolve);
    else left.resolve();
    this.#relay.order({ op: "hold", tunnel });
    return work(left.promise).finally(() => this.#waiting.delete(tunnel));
  }

  /** What the rules of now do not allow. */
  closeLost({ tunnels }: Ward): void {
    for (const [tunnel, { stillAllowed }] of tunnels) {
      if (!stillAllowed()) this.#relay.order({ op: "close", tunnel });
    }
  }

  end({ tunnel, reason, up, down }: Over): void {
    this.#living.delete(tunnel);
    this.#takers.delete(tunnel);
    this.#waiting.get(tunnel)?.();
    const ward = this.#wardOf.get(tunnel);
    const noted = ward?.tunnels.get(tunnel)?.noted;
    this.#wardOf.delete(tunnel);
    ward?.tunnels.delete(tunnel);
    if (!ward || !noted) return;
    // What was carried for a while was carried, however it ended.
    const failed = down === 0 && reason !== "done" && reason !== "closed";
    const ended = { ...(reason !== "done" && { reason }), ...(failed && { verdict: "failed" as const }) };
    this.#diary.amend(ward.sandbox, noted.key, { ...noted.call, ...ended, upBytes: up, downBytes: down });
  }
}
