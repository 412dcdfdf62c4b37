import { canonicalHost, type GuardedNetwork } from "@sandboxer/contract";
import { compile } from "../policy/compile.ts";
import { type Decision, decideConnection } from "../policy/decide.ts";
import { type Resolve, Unreachable } from "../resolve.ts";
import type { Relay, RelayEvent } from "./relay.ts";
import { createWard, type Noted, type Ward } from "./ward.ts";

export interface GuardParts {
  readonly relay: Relay;
  readonly resolve: Resolve;
  /** The first word on a call, and later ones under the same key. */
  note(sandbox: string, key: number, call: Noted): void;
  watching(sandbox: string): void;
  lost(sandbox: string, reason: string): void;
}

type Opened = Extract<RelayEvent, { event: "open" }>;
type Over = Extract<RelayEvent, { event: "over" }>;

/** Every connection of every sandbox is decided here, and nowhere else. */
export class Decider {
  readonly #parts: GuardParts;
  readonly #wards = new Map<string, Ward>();
  #lastKey = 0;

  constructor(parts: GuardParts) {
    this.#parts = parts;
  }

  protect(sandbox: string, socketPath: string, network: GuardedNetwork): void {
    this.#wards.set(sandbox, createWard(sandbox, network));
    this.#parts.relay.order({ op: "watch", sandbox, socket: socketPath });
  }

  change(sandbox: string, network: GuardedNetwork): void {
    const ward = this.#wards.get(sandbox);
    if (!ward) return;
    ward.policy = compile(network);
    for (const [tunnel, { stillAllowed }] of ward.tunnels) {
      if (!stillAllowed()) this.#parts.relay.order({ op: "close", tunnel });
    }
  }

  forget(sandbox: string): void {
    this.#wards.delete(sandbox);
    this.#parts.relay.order({ op: "leave", sandbox });
  }

  hear(event: RelayEvent): void {
    if (event.event === "open") void this.#open(event);
    else if (event.event === "over") this.#over(event);
    else if (event.event === "watching") this.#parts.watching(event.sandbox);
    else if (event.event === "lost") this.#parts.lost(event.sandbox, event.reason);
    else if (event.event === "stray") {
      const { sandbox, port, address } = event;
      const reason = "addresses are reached by name only";
      this.#write(sandbox, { atMs: Date.now(), port, address, via: "address", verdict: "denied", reason });
    }
  }

  async #open(opened: Opened): Promise<void> {
    const { tunnel, sandbox, port, via } = opened;
    const ward = this.#wards.get(sandbox);
    const host = canonicalHost(opened.host);
    const call = { atMs: Date.now(), port, via, ...(host && { host: host.text }) };
    if (!ward || !host)
      return this.#refuse(opened, { ...call, verdict: "denied", reason: "this is no host" });
    const decide = () => decideConnection(ward.policy, { host: host.text, port });
    const decision = decide();
    if (decision.verdict === "denied") return this.#refuse(opened, { ...call, ...decision });
    const { verdict, carriage, rule, cidrs } = decision;
    const told = { ...call, ...(rule && { rule }) };
    const addresses = await this.#parts.resolve(host.text, cidrs).catch(reasonOf);
    if (typeof addresses === "string") {
      return this.#refuse(opened, { ...told, verdict: "denied", reason: addresses });
    }
    const stillAllowed = () => isSame(decision, decide());
    // While the name was looked up, the rules may have changed.
    if (this.#wards.get(sandbox) !== ward || !stillAllowed()) {
      return this.#refuse(opened, { ...told, verdict: "denied", reason: "the rules have changed" });
    }
    const noted: Noted = { ...told, verdict, address: addresses[0] ?? "" };
    if (carriage === "inspected-tls" || carriage === "inspected-http") {
      return this.#refuse(opened, { ...noted, verdict: "denied", reason: "requests cannot be read yet" });
    }
    ward.tunnels.set(tunnel, { key: this.#write(sandbox, noted), call: noted, sandbox, stillAllowed });
    const named = host.kind === "name" ? { name: host.text } : {};
    this.#parts.relay.order({ op: "dial", tunnel, addresses, port, tls: carriage === "tls", ...named });
  }

  #refuse(opened: Opened, call: Noted): void {
    this.#parts.relay.order({ op: "refuse", tunnel: opened.tunnel, reason: call.reason ?? "denied" });
    this.#write(opened.sandbox, call);
  }

  #over({ tunnel, reason, up, down }: Over): void {
    for (const { sandbox, tunnels } of this.#wards.values()) {
      const one = tunnels.get(tunnel);
      if (!one) continue;
      tunnels.delete(tunnel);
      const isWhole = reason === "done";
      const ended = isWhole ? {} : { reason, ...(reason !== "closed" && { verdict: "failed" as const }) };
      this.#parts.note(sandbox, one.key, { ...one.call, ...ended, upBytes: up, downBytes: down });
      return;
    }
  }

  #write(sandbox: string, call: Noted): number {
    this.#lastKey += 1;
    this.#parts.note(sandbox, this.#lastKey, call);
    return this.#lastKey;
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Unreachable ? error.message : "its name cannot be resolved";
}

/** Still let through, and carried in the same way. */
function isSame(before: Decision, now: Decision): boolean {
  if (before.verdict === "denied" || now.verdict === "denied") return false;
  return before.carriage === now.carriage;
}
