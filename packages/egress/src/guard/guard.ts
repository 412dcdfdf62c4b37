import { isIP, type Socket } from "node:net";
import type { SecureContext } from "node:tls";
import { canonicalHost, type Misuse, type Terms } from "@sandboxer/contract";
import type { Place } from "../http/authority.ts";
import type { Asked, Decision } from "../policy/decide.ts";
import { attachmentOf } from "../policy/users.ts";
import { type Resolve, trapIn, Unreachable } from "../resolve.ts";
import { createStrangers } from "../secrets/strangers.ts";
import { chargeOrder, fillOrders } from "./budgets.ts";
import { type Inspected, inspect } from "./inspection.ts";
import { judgeConnection, judgeRequest } from "./judge.ts";
import { type Asking, type LoginParts, serveLogins } from "./logins.ts";
import { resolveFor } from "./new-names.ts";
import type { Questions } from "./questions.ts";
import type { Relay, RelayEvent } from "./relay.ts";
import {
  changeWard,
  createWard,
  type Noted,
  nextEnd,
  type Protection,
  policyAt,
  type Spent,
  type Tunnel,
  type Ward,
} from "./ward.ts";

export interface GuardParts {
  readonly relay: Relay;
  readonly resolve: Resolve;
  /** Whom to trust on the far side of what is read. */
  readonly trust: SecureContext;
  /** The first word on a call, and later ones under the same key. */
  note(sandbox: string, key: number, call: Noted): void;
  watching(sandbox: string): void;
  lost(sandbox: string, reason: string): void;
  spent(sandbox: string, purse: string, spent: Spent): void;
  misused(sandbox: string, misuse: Misuse): void;
  readonly questions: Questions;
}

type Opened = Extract<RelayEvent, { event: "open" }>;
type Over = Extract<RelayEvent, { event: "over" }>;
type Allowed = Exclude<Decision, { verdict: "denied" }>;

/** Every connection of every sandbox is decided here, and nowhere else. */
export class Decider {
  readonly #parts: GuardParts;
  readonly #wards = new Map<string, Ward>();
  /** Whose a tunnel is, for as long as it lasts. */
  readonly #wardOf = new Map<number, Ward>();
  readonly #inspected = new Map<number, Inspected>();
  readonly #agents = new Map<number, Asking>();
  readonly #loginParts: LoginParts;
  readonly #strangers = createStrangers();
  /** Connections that wait for somebody's word, and what to do when they do not any more. */
  readonly #waiting = new Map<number, () => void>();
  #lastKey = 0;

  constructor(parts: GuardParts) {
    this.#parts = parts;
    const note = (sandbox: string, call: Noted) => void this.#write(sandbox, call);
    this.#loginParts = { note, ask: parts.questions.ask };
  }

  protect(protection: Protection): void {
    const { sandbox, socket } = protection;
    const ward = createWard(protection);
    this.#wards.set(sandbox, ward);
    this.#lookAgainLater(ward);
    this.#strangers.learn(sandbox, protection.secrets);
    this.#parts.relay.order({ op: "watch", sandbox, socket, agent: protection.hasAgent });
    for (const order of fillOrders(ward)) this.#parts.relay.order(order);
  }

  change(sandbox: string, terms: Terms): void {
    const ward = this.#wards.get(sandbox);
    if (!ward) return;
    changeWard(ward, terms);
    this.#strangers.learn(sandbox, terms.secrets);
    for (const order of fillOrders(ward)) this.#parts.relay.order(order);
    this.#closeLost(ward);
    this.#lookAgainLater(ward);
  }

  #closeLost({ tunnels }: Ward): void {
    for (const [tunnel, { stillAllowed }] of tunnels) {
      if (!stillAllowed()) this.#parts.relay.order({ op: "close", tunnel });
    }
  }

  /** What was allowed for a while ends by itself, whether or not the gateway says so. */
  #lookAgainLater(ward: Ward): void {
    const { terms, sandbox } = ward;
    const endMs = nextEnd(terms, Date.now());
    if (endMs === undefined) return;
    const look = () => {
      if (this.#wards.get(sandbox) !== ward || ward.terms !== terms) return;
      ward.policy = policyAt(terms, Date.now());
      this.#closeLost(ward);
      this.#lookAgainLater(ward);
    };
    setTimeout(look, endMs - Date.now() + 1).unref();
  }

  forget(sandbox: string): void {
    this.#wards.delete(sandbox);
    this.#parts.relay.order({ op: "leave", sandbox });
  }

  hear(event: RelayEvent): void {
    if (event.event === "open") this.#open(event).catch(() => this.#fail(event));
    else if (event.event === "over") this.#over(event);
    else if (event.event === "spent") this.#spend(event);
    else if (event.event === "watching") this.#parts.watching(event.sandbox);
    else if (event.event === "lost") this.#parts.lost(event.sandbox, event.reason);
    else if (event.event === "stray") {
      const { sandbox, port, address } = event;
      const reason = "addresses are reached by name only";
      this.#write(sandbox, { atMs: Date.now(), port, address, via: "address", verdict: "denied", reason });
    }
  }

  /** The relay brings a connection that is to be read. */
  take(tunnel: number, socket: Socket): void {
    const agent = this.#agents.get(tunnel);
    if (agent) return void serveLogins(socket, agent, this.#loginParts);
    const inspected = this.#inspected.get(tunnel);
    if (!inspected) return void socket.destroy();
    const { resolve, trust, misused, questions } = this.#parts;
    const note = (sandbox: string, call: Noted) => void this.#write(sandbox, call);
    const { isForeign } = this.#strangers;
    const charge = (place: Asked) => this.#charge(inspected.ward, tunnel, place);
    const { ask } = questions;
    void inspect(socket, inspected, { resolve, trust, note, misused, isForeign, ask, charge });
  }

  async #open(opened: Opened): Promise<void> {
    const { sandbox, port, via, uid } = opened;
    const ward = this.#wards.get(sandbox);
    if (ward && via === "ssh-agent") return this.#readLogins(opened.tunnel, { ward, uid });
    const seen = opened.program ? { binary: opened.program } : {};
    if (ward && opened.host === "")
      return this.#read(opened.tunnel, { ward, via, uid, scheme: "http", ...seen });
    const host = canonicalHost(opened.host);
    const attachmentId = ward && attachmentOf(ward.users, uid);
    const whose = { ...seen, ...(attachmentId && { attachmentId }) };
    const call = { atMs: Date.now(), port, via, ...whose, ...(host && { host: host.text }) };
    if (!ward || !host)
      return this.#refuse(opened, { ...call, verdict: "denied", reason: "this is no host" });
    const place = { host: host.text, port };
    const wanted = { ...place, ...seen };
    const decision = judgeConnection(ward, uid, wanted);
    if (decision.verdict === "denied") {
      // In the clear there is a way to say why: each request is denied with a sentence.
      if (port === 80 && via === "name")
        return this.#read(opened.tunnel, { ward, via, uid, scheme: "http", place, ...seen });
      return this.#refuse(opened, { ...call, ...decision });
    }
    const scheme = schemeOf(decision);
    // A name that is looked up is a word to whoever keeps it: not before somebody said yes.
    if (scheme && decision.asksEach)
      return this.#read(opened.tunnel, { ward, via, uid, scheme, place, ...seen }, decision);
    const told = { ...call, ...(decision.rule && { rule: decision.rule }) };
    if (decision.verdict === "asked" && !(await this.#ask(opened, decision, place, attachmentId))) {
      return this.#refuse(opened, {
        ...told,
        rule: "approval",
        verdict: "denied",
        reason: "nobody allowed it",
      });
    }
    const resolve = resolveFor(ward, this.#parts.resolve);
    const addresses = await resolve(host.text, decision.cidrs).catch(Unreachable.from);
    if (addresses instanceof Unreachable) {
      const { message: reason, cure } = addresses;
      return this.#refuse(opened, { ...told, verdict: "denied", reason, ...(cure && { cure }) });
    }
    // While the name was looked up, the rules may have changed.
    if (this.#wards.get(sandbox) !== ward || !isSame(decision, judgeConnection(ward, uid, wanted))) {
      return this.#refuse(opened, { ...told, verdict: "denied", reason: "the rules have changed" });
    }
    const verdict = decision.verdict === "asked" ? "allowed" : decision.verdict;
    this.#admit(opened, ward, decision, addresses, { ...told, verdict });
  }

  #ask(
    { tunnel, sandbox }: Opened,
    { carriage, rule }: Allowed,
    { host, port }: Place,
    attachmentId: string | undefined,
  ): Promise<boolean> {
    const left = Promise.withResolvers<void>();
    this.#waiting.set(tunnel, left.resolve);
    this.#parts.relay.order({ op: "hold", tunnel });
    const protocol = carriage === "tls" ? "https" : "tcp";
    const whose = { ...(attachmentId && { attachmentId }), ...(rule && { rule }) };
    const call = { kind: "connection", host, port, protocol, ...whose } as const;
    return this.#parts.questions.ask(sandbox, call, left.promise).finally(() => this.#waiting.delete(tunnel));
  }

  #admit(
    { tunnel, via, port, uid }: Opened,
    ward: Ward,
    decision: Allowed,
    addresses: string[],
    call: Noted,
  ): void {
    const place = { host: call.host ?? "", port };
    const seen = call.binary ? { binary: call.binary } : {};
    const { carriage } = decision;
    const scheme = schemeOf(decision);
    if (scheme) return this.#read(tunnel, { ward, via, uid, scheme, place, addresses, ...seen }, decision);
    const noted = { ...call, address: addresses[0] ?? "" };
    const stillAllowed = () => isSame(decision, judgeConnection(ward, uid, { ...place, ...seen }));
    const key = this.#write(ward.sandbox, noted);
    this.#keep(ward, tunnel, { noted: { key, call: noted }, stillAllowed }, place);
    const named = canonicalHost(place.host)?.kind === "name" ? { name: place.host } : {};
    this.#parts.relay.order({ op: "dial", tunnel, addresses, port, tls: carriage === "tls", ...named });
  }

  #read(tunnel: number, inspected: Inspected, decision?: Allowed): void {
    const { ward, uid, place, binary } = inspected;
    this.#inspected.set(tunnel, inspected);
    const stillAllowed = () => {
      const wanted = place && { ...place, binary };
      if (wanted && decision && !isSame(decision, judgeConnection(ward, uid, wanted))) return false;
      return !inspected.asked || judgeRequest(ward, uid, inspected.asked).verdict !== "denied";
    };
    this.#keep(ward, tunnel, { stillAllowed }, place);
    this.#parts.relay.order({ op: "inspect", tunnel });
  }

  #readLogins(tunnel: number, agent: Asking): void {
    this.#agents.set(tunnel, agent);
    this.#keep(agent.ward, tunnel, { stillAllowed: () => true });
    this.#parts.relay.order({ op: "inspect", tunnel });
  }

  #keep(ward: Ward, tunnel: number, kept: Tunnel, place?: Asked): void {
    ward.tunnels.set(tunnel, kept);
    this.#wardOf.set(tunnel, ward);
    this.#charge(ward, tunnel, place);
  }

  #charge(ward: Ward, tunnel: number, place: Asked | undefined): void {
    const order = chargeOrder(ward, tunnel, place);
    if (order) this.#parts.relay.order(order);
  }

  #spend({ purse: name, up: upBytes, down: downBytes }: Extract<RelayEvent, { event: "spent" }>): void {
    const [sandbox = ""] = name.split("/", 1);
    const purse = name.slice(sandbox.length + 1);
    this.#wards.get(sandbox)?.spent.set(purse, { upBytes, downBytes });
    this.#parts.spent(sandbox, purse, { upBytes, downBytes });
  }

  /** What we did not foresee is refused, and stays the trouble of whoever caused it. */
  #fail(opened: Opened): void {
    const { port, via } = opened;
    this.#refuse(opened, { atMs: Date.now(), port, via, verdict: "failed", reason: "the guard failed" });
  }

  #refuse(opened: Opened, call: Noted): void {
    // Of an address it can be told without asking anybody.
    const trap = call.host && isIP(call.host) ? trapIn(call.host, [call.host], []) : undefined;
    this.#write(opened.sandbox, { ...(trap && { cure: trap.cure }), ...call });
    this.#parts.relay.order({ op: "refuse", tunnel: opened.tunnel, reason: call.reason ?? "denied" });
  }

  #over({ tunnel, reason, up, down }: Over): void {
    this.#inspected.delete(tunnel);
    this.#agents.delete(tunnel);
    this.#waiting.get(tunnel)?.();
    const ward = this.#wardOf.get(tunnel);
    const noted = ward?.tunnels.get(tunnel)?.noted;
    this.#wardOf.delete(tunnel);
    ward?.tunnels.delete(tunnel);
    if (!ward || !noted) return;
    // What was carried for a while was carried, however it ended.
    const failed = down === 0 && reason !== "done" && reason !== "closed";
    const ended = { ...(reason !== "done" && { reason }), ...(failed && { verdict: "failed" as const }) };
    this.#parts.note(ward.sandbox, noted.key, { ...noted.call, ...ended, upBytes: up, downBytes: down });
  }

  #write(sandbox: string, call: Noted): number {
    this.#lastKey += 1;
    this.#parts.note(sandbox, this.#lastKey, call);
    return this.#lastKey;
  }
}

/** Of requests that are read. */
function schemeOf({ carriage }: Allowed): "http" | "https" | undefined {
  if (carriage === "inspected-tls") return "https";
  return carriage === "inspected-http" ? "http" : undefined;
}

/** Still let through, and carried in the same way. */
function isSame(before: Decision, now: Decision): boolean {
  if (before.verdict === "denied" || now.verdict === "denied") return false;
  return before.carriage === now.carriage;
}
