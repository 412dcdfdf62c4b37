import { guardedNetworkSchema, type Terms } from "@sandboxer/contract";
import { expect, it } from "vitest";
import { trusted } from "../http/upstream.ts";
import { newAuthority } from "../tls/certificate.ts";
import { Decider } from "./guard.ts";
import type { RelayOrder } from "./relay.ts";
import type { Noted } from "./ward.ts";

const HOST = "api.example.com";
const WITHOUT_RULES = guardedNetworkSchema.parse({ egress: "guarded" });
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** A guard of one sandbox that looks names up when it is told to. */
function guardOne(rule: object) {
  const orders: RelayOrder[] = [];
  const noted: Noted[] = [];
  const found = Promise.withResolvers<string[]>();
  const decider = new Decider({
    relay: { order: (order) => void orders.push(order) },
    resolve: () => found.promise,
    trust: trusted([]),
    note: (_, __, call) => void noted.push(call),
    watching: () => {},
    lost: () => {},
    spent: () => {},
    misused: () => {},
    questions: { ask: (_, __, left) => left.then(() => false), answer: () => {} },
  });
  const network = guardedNetworkSchema.parse({ egress: "guarded", rules: [{ host: HOST, ...rule }] });
  const users = { shared: [], sharedSecrets: [], own: [] };
  const terms: Terms = { network, users, secrets: [], keys: [], hasAgent: false, elevated: [] };
  decider.protect({ ...terms, sandbox: "s", socket: "/none", spent: {}, authority: newAuthority("s") });
  return {
    noted,
    open: (tunnel: number) =>
      decider.hear({ event: "open", tunnel, sandbox: "s", host: HOST, port: 443, via: "socks", uid: 1000 }),
    leave: (tunnel: number) =>
      decider.hear({ event: "over", tunnel, reason: "the program left", up: 0, down: 0 }),
    find: () => found.resolve(["93.184.216.34"]),
    /** What the relay is told of these, once no rule allows anything any more. */
    async ordersAfterLoss(...tunnels: number[]) {
      await settled();
      decider.change("s", { ...terms, network: WITHOUT_RULES });
      return tunnels.map((one) =>
        orders.flatMap((order) => ("tunnel" in order && order.tunnel === one ? order.op : [])),
      );
    },
  };
}

for (const [how, rule, yes] of [
  ["carried", {}, "dial"],
  ["read", { inspect: true }, "inspect"],
] as const) {
  it(`EG-21 a connection that is over before it is ${how} is answered, and nothing of it is kept`, async () => {
    const guard = guardOne(rule);
    guard.open(1);
    guard.open(2);
    guard.leave(1);
    await settled();
    guard.find();
    expect(await guard.ordersAfterLoss(1, 2)).toEqual([["refuse"], [yes, "close"]]);
    expect(guard.noted.find(({ verdict }) => verdict === "failed")).toMatchObject({
      reason: "the program left",
    });
  });
}

it("EG-21 nobody is asked for long about one that is over", async () => {
  const guard = guardOne({ effect: "ask" });
  guard.open(1);
  guard.open(2);
  guard.leave(2);
  guard.leave(1);
  expect(await guard.ordersAfterLoss(1, 2)).toEqual([
    ["hold", "refuse"],
    ["hold", "refuse"],
  ]);
});
