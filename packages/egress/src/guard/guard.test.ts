import { guardedNetworkSchema } from "@sandboxer/contract";
import fc from "fast-check";
import { expect, it } from "vitest";
import { trusted } from "../http/upstream.ts";
import { newAuthority } from "../tls/certificate.ts";
import { Decider } from "./guard.ts";
import type { RelayOrder } from "./relay.ts";
import type { Noted } from "./ward.ts";

const ALLOWED = "api.example.com";

/** One sandbox that may reach one host, and everything that is done for it. */
function watchOne() {
  const orders: RelayOrder[] = [];
  const resolved: string[] = [];
  const noted: Noted[] = [];
  const decider = new Decider({
    relay: { order: (order) => void orders.push(order) },
    resolve: async (host) => {
      resolved.push(host);
      return ["93.184.216.34"];
    },
    trust: trusted([]),
    note: (_, __, call) => void noted.push(call),
    watching: () => {},
    lost: () => {},
    spent: () => {},
    misused: () => {},
    questions: { ask: async () => false, answer: () => {} },
  });
  decider.protect({
    sandbox: "s",
    socket: "/none",
    network: guardedNetworkSchema.parse({ egress: "guarded", rules: [{ host: ALLOWED }] }),
    users: { shared: [], sharedSecrets: [], own: [] },
    secrets: [],
    keys: [],
    hasAgent: false,
    elevated: [],
    spent: {},
    authority: newAuthority("s"),
  } as Parameters<Decider["protect"]>[0]);
  return { decider, orders, resolved, noted };
}

it("EG-8 whatever is asked for, the host that is looked up, dialled and written down is the one that is allowed", async () => {
  const { decider, orders, resolved, noted } = watchOne();
  const noise = fc.constantFrom(
    ".",
    "..",
    "\0",
    "@",
    "#",
    "\\",
    "/",
    " ",
    "%2e",
    "。",
    "\u00ad",
    "а",
    "x",
    "-",
    "_",
    ":",
  );
  const twin = fc.tuple(fc.nat(ALLOWED.length), noise, fc.boolean()).map(([at, one, isUpper]) => {
    const text = ALLOWED.slice(0, at) + one + ALLOWED.slice(at);
    return isUpper ? text.toUpperCase() : text;
  });
  const spelling = fc.oneof(
    fc.constantFrom(ALLOWED, "API.Example.COM", `${ALLOWED}.`),
    twin,
    fc.domain(),
    fc.string(),
  );
  let tunnel = 0;
  await fc.assert(
    fc.asyncProperty(spelling, async (host) => {
      tunnel += 1;
      const before = { orders: orders.length, resolved: resolved.length, noted: noted.length };
      decider.hear({
        event: "open",
        tunnel,
        sandbox: "s",
        host: host || "?",
        port: 443,
        via: "socks",
        uid: 1000,
      });
      await new Promise((resolve) => setImmediate(resolve));
      const [order] = orders.slice(before.orders);
      const isDialled = order?.op === "dial";
      const isAllowed = [ALLOWED, `${ALLOWED}.`].includes(host.toLowerCase());
      expect({ host, isDialled }).toEqual({ host, isDialled: isAllowed });
      expect(resolved.slice(before.resolved)).toEqual(isDialled ? [ALLOWED] : []);
      if (isDialled)
        expect({ name: order.name, written: noted.at(-1)?.host }).toEqual({
          name: ALLOWED,
          written: ALLOWED,
        });
      else expect(noted.slice(before.noted)).toMatchObject([{ verdict: "denied" }]);
    }),
    { numRuns: 1_000 },
  );
});
