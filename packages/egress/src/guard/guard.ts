import type { Socket } from "node:net";
import type { Terms } from "@sandboxer/contract";
import { fillOrders } from "./budgets.ts";
import { createDiary, type Diary } from "./diary.ts";
import { Opening } from "./opening.ts";
import type { GuardParts } from "./parts.ts";
import type { Opened } from "./refusal.ts";
import type { RelayEvent } from "./relay.ts";
import { Tunnels } from "./tunnels.ts";
import { Turns } from "./turns.ts";
import { changeWard, createWard, type Noted, nextEnd, type Protection, policyAt, type Ward } from "./ward.ts";

/** Every connection of every sandbox is decided here, and nowhere else. */
export class Decider {
  readonly #parts: GuardParts;
  readonly #wards = new Map<string, Ward>();
  readonly #diary: Diary;
  readonly #tunnels: Tunnels;
  readonly #opening: Opening;
  readonly #turns = new Turns();

  constructor(parts: GuardParts) {
    this.#parts = parts;
    this.#diary = createDiary(parts.note);
    this.#tunnels = new Tunnels(parts.relay, this.#diary);
    const wardOf = (sandbox: string) => this.#wards.get(sandbox);
    this.#opening = new Opening({ ...parts, wardOf, diary: this.#diary, tunnels: this.#tunnels });
  }

  protect(protection: Protection): void {
    const { sandbox, socket } = protection;
    const ward = createWard(protection);
    this.#wards.set(sandbox, ward);
    this.#lookAgainLater(ward);
    this.#parts.relay.order({ op: "watch", sandbox, socket, agent: protection.hasAgent });
    for (const order of fillOrders(ward)) this.#parts.relay.order(order);
  }

  change(sandbox: string, terms: Terms): void {
    const ward = this.#wards.get(sandbox);
    if (!ward) return;
    changeWard(ward, terms);
    for (const order of fillOrders(ward)) this.#parts.relay.order(order);
    this.#tunnels.closeLost(ward);
    this.#lookAgainLater(ward);
  }

  /** What was allowed for a while ends by itself, whether or not the gateway says so. */
  #lookAgainLater(ward: Ward): void {
    const { terms, sandbox } = ward;
    const endMs = nextEnd(terms, Date.now());
    if (endMs === undefined) return;
    const look = () => {
      if (this.#wards.get(sandbox) !== ward || ward.terms !== terms) return;
      ward.policy = policyAt(terms, Date.now());
      this.#tunnels.closeLost(ward);
      this.#lookAgainLater(ward);
    };
    setTimeout(look, endMs - Date.now() + 1).unref();
  }

  forget(sandbox: string): void {
    this.#wards.delete(sandbox);
    this.#parts.relay.order({ op: "leave", sandbox });
  }

  hear(event: RelayEvent): void {
    if (event.event === "open") this.#open(event);
    else if (event.event === "over") this.#tunnels.end(event);
    else if (event.event === "spent") this.#spend(event);
    else if (event.event === "watching") this.#parts.watching(event.sandbox);
    else if (event.event === "lost") this.#parts.lost(event.sandbox, event.reason);
    else if (event.event === "stray") {
      const { sandbox, port, address } = event;
      this.#deny(sandbox, { port, address, via: "address", reason: "addresses are reached by name only" });
    } else if (event.event === "unclear") {
      const { sandbox, port, via, reason } = event;
      this.#deny(sandbox, { port, via, reason });
    }
  }

  /** What the relay has ended by itself. */
  #deny(sandbox: string, call: Omit<Noted, "atMs" | "verdict">): void {
    this.#diary.write(sandbox, { atMs: Date.now(), ...call, verdict: "denied" });
  }

  take(tunnel: number, socket: Socket): void {
    this.#tunnels.take(tunnel, socket);
  }

  #open(opened: Opened): void {
    this.#tunnels.begin(opened.tunnel);
    this.#turns.take(
      opened.sandbox,
      () => void this.#opening.open(opened).catch(() => this.#opening.fail(opened)),
    );
  }

  #spend({ purse: name, up: upBytes, down: downBytes }: Extract<RelayEvent, { event: "spent" }>): void {
    const [sandbox = ""] = name.split("/", 1);
    const purse = name.slice(sandbox.length + 1);
    this.#wards.get(sandbox)?.spent.set(purse, { upBytes, downBytes });
    this.#parts.spent(sandbox, purse, { upBytes, downBytes });
  }
}
