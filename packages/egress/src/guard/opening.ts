import { canonicalHost } from "@sandboxer/contract";
import type { Place } from "../http/authority.ts";
import { type Decision, isSame } from "../policy/decide.ts";
import { attachmentOf } from "../policy/users.ts";
import { Unreachable } from "../resolve.ts";
import { judgeConnection } from "./judge.ts";
import { resolveFor } from "./new-names.ts";
import type { DecidingParts } from "./parts.ts";
import { readLogins, readRequests } from "./reading.ts";
import { type Opened, refuse } from "./refusal.ts";
import type { Noted, Ward } from "./ward.ts";

/** Where boxd listens for what is said to a proxy. */
const PROXY_PORT = 3128;

type Allowed = Exclude<Decision, { verdict: "denied" }>;

/** One connection that a program wants, from its question to its verdict. */
export class Opening {
  readonly #parts: DecidingParts;

  constructor(parts: DecidingParts) {
    this.#parts = parts;
  }

  async open(opened: Opened): Promise<void> {
    const { sandbox, port, via, uid, tunnel } = opened;
    const ward = this.#parts.wardOf(sandbox);
    if (ward && via === "ssh-agent") return readLogins(this.#parts, tunnel, { ward, uid });
    const seen = opened.program ? { binary: opened.program } : {};
    if (ward && opened.host === "")
      return readRequests(this.#parts, tunnel, { ward, via, uid, port: PROXY_PORT, scheme: "http", ...seen });
    const host = canonicalHost(opened.host);
    const attachmentId = ward && attachmentOf(ward.users, uid);
    const whose = { ...seen, ...(attachmentId && { attachmentId }) };
    const call = { atMs: Date.now(), port, via, ...whose, ...(host && { host: host.text }) };
    if (!ward || !host) return this.#refuse(opened, { ...call, reason: "this is no host" });
    const place = { host: host.text, port };
    const wanted = { ...place, ...seen };
    const decision = judgeConnection(ward, uid, wanted);
    if (decision.verdict === "denied") {
      // In the clear there is a way to say why: each request is denied with a sentence.
      if (port === 80 && via === "name")
        return readRequests(this.#parts, tunnel, { ward, via, uid, port, scheme: "http", place, ...seen });
      return this.#refuse(opened, { ...call, ...decision }, ward);
    }
    const scheme = schemeOf(decision);
    // A name that is looked up is a word to whoever keeps it: not before somebody said yes.
    if (scheme && decision.asksEach)
      return readRequests(this.#parts, tunnel, { ward, via, uid, port, scheme, place, ...seen }, decision);
    const told = { ...call, ...(decision.rule && { rule: decision.rule }) };
    if (decision.verdict === "asked" && !(await this.#ask(opened, decision, place, attachmentId))) {
      return this.#refuse(opened, { ...told, rule: "approval", reason: "nobody allowed it" }, ward);
    }
    const resolve = resolveFor(ward, this.#parts.resolve);
    const addresses = await resolve(host.text, decision.cidrs).catch(Unreachable.from);
    if (addresses instanceof Unreachable) {
      const { message: reason, cure } = addresses;
      return this.#refuse(opened, { ...told, reason, ...(cure && { cure }) }, ward);
    }
    // While the name was looked up, the rules may have changed.
    if (this.#parts.wardOf(sandbox) !== ward || !isSame(decision, judgeConnection(ward, uid, wanted))) {
      return this.#refuse(opened, { ...told, reason: "the rules have changed" }, ward);
    }
    if (!this.#parts.tunnels.isLiving(tunnel)) {
      return refuse(this.#parts, opened, { ...told, verdict: "failed", reason: "the program left" });
    }
    const verdict = decision.verdict === "asked" ? "allowed" : decision.verdict;
    this.#admit(opened, ward, decision, addresses, { ...told, verdict });
  }

  /** What we did not foresee is refused, and stays the trouble of whoever caused it. */
  fail(opened: Opened): void {
    const { port, via } = opened;
    refuse(this.#parts, opened, {
      atMs: Date.now(),
      port,
      via,
      verdict: "failed",
      reason: "the guard failed",
    });
  }

  #refuse(opened: Opened, call: Omit<Noted, "verdict">, ward?: Ward): void {
    refuse(this.#parts, opened, { ...call, verdict: "denied" }, ward);
  }

  #ask(
    { tunnel, sandbox }: Opened,
    { carriage, rule }: Allowed,
    { host, port }: Place,
    attachmentId: string | undefined,
  ): Promise<boolean> {
    const protocol = carriage === "tls" ? "https" : "tcp";
    const whose = { ...(attachmentId && { attachmentId }), ...(rule && { rule }) };
    const call = { kind: "connection", host, port, protocol, ...whose } as const;
    const { tunnels, questions } = this.#parts;
    return tunnels.hold(tunnel, (left) => questions.ask(sandbox, call, left));
  }

  #admit(
    { tunnel, via, port, uid }: Opened,
    ward: Ward,
    decision: Allowed,
    addresses: string[],
    call: Noted,
  ): void {
    const { diary, tunnels, relay } = this.#parts;
    const place = { host: call.host ?? "", port };
    const seen = call.binary ? { binary: call.binary } : {};
    const { carriage } = decision;
    const scheme = schemeOf(decision);
    if (scheme)
      return readRequests(
        this.#parts,
        tunnel,
        { ward, via, uid, port, scheme, place, addresses, ...seen },
        decision,
      );
    const noted = { ...call, address: addresses[0] ?? "" };
    const stillAllowed = () => isSame(decision, judgeConnection(ward, uid, { ...place, ...seen }));
    const key = diary.write(ward.sandbox, noted);
    tunnels.keep(ward, tunnel, { noted: { key, call: noted }, stillAllowed });
    tunnels.charge(ward, tunnel, place);
    const named = canonicalHost(place.host)?.kind === "name" ? { name: place.host } : {};
    relay.order({ op: "dial", tunnel, addresses, port, tls: carriage === "tls", ...named });
  }
}

/** Of requests that are read. */
function schemeOf({ carriage }: Allowed): "http" | "https" | undefined {
  if (carriage === "inspected-tls") return "https";
  return carriage === "inspected-http" ? "http" : undefined;
}
