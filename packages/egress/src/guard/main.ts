import { readFileSync, rmSync } from "node:fs";
import { parseArgs } from "node:util";
import {
  elevatedSchema,
  guardedKeySchema,
  guardedNetworkSchema,
  guardedSecretSchema,
  guardedUsersSchema,
} from "@sandboxer/contract";
import { z } from "zod";
import { listenForTunnels } from "../http/inspector.ts";
import { trusted } from "../http/upstream.ts";
import { readLines, sayTogether } from "../lines.ts";
import { createResolve } from "../resolve.ts";
import { socketOf } from "../sockets.ts";
import { Decider } from "./guard.ts";
import { createQuestions } from "./questions.ts";
import { type Relay, type RelayEvent, startRelay } from "./relay.ts";

/** What the gateway says. */
const orderSchema = z.discriminatedUnion("op", [
  z.strictObject({
    op: z.literal("protect"),
    sandbox: z.string(),
    socket: z.string(),
    network: guardedNetworkSchema,
    users: guardedUsersSchema,
    secrets: z.array(guardedSecretSchema),
    keys: z.array(guardedKeySchema),
    hasAgent: z.boolean(),
    elevated: z.array(elevatedSchema),
    authority: z.strictObject({
      name: z.string(),
      certificate: z.string(),
      rootKey: z.string(),
      leafKey: z.string(),
    }),
    spent: z.record(z.string(), z.strictObject({ upBytes: z.int(), downBytes: z.int() })),
  }),
  z.strictObject({
    op: z.literal("change"),
    sandbox: z.string(),
    network: guardedNetworkSchema,
    users: guardedUsersSchema,
    secrets: z.array(guardedSecretSchema),
    keys: z.array(guardedKeySchema),
    hasAgent: z.boolean(),
    elevated: z.array(elevatedSchema),
    turn: z.int(),
  }),
  z.strictObject({ op: z.literal("forget"), sandbox: z.string() }),
  z.strictObject({ op: z.literal("answer"), question: z.int(), isAllowed: z.boolean() }),
]);

const { values } = parseArgs({
  options: {
    boxd: { type: "string" },
    dir: { type: "string" },
    dns: { type: "string" },
    ca: { type: "string" },
  },
});
const { boxd, dir, dns, ca } = values;
if (!boxd || !dir) throw new Error("--boxd and --dir are needed");

// Whatever small thing a connection keeps keeps the whole buffer that it shares with others.
Buffer.poolSize = 8_192;

// After whatever is to be done now: the gateway need not know sooner.
const { say, flush } = sayTogether(process.stdout, setImmediate);
process.on("exit", flush);
const inspector = socketOf(dir, process.pid);
process.on("exit", () => rmSync(inspector, { force: true }));

let hear: (event: RelayEvent) => void = () => {};
const relay: Relay = startRelay(boxd, inspector, (event) =>
  event.event === "ready" ? say({ event: "ready" }) : hear(event),
);
const questions = createQuestions(say);
const decider = new Decider({
  questions,
  relay,
  resolve: createResolve(dns?.split(",")),
  trust: trusted(ca ? [readFileSync(ca, "utf8")] : []),
  note: (sandbox, key, call) => say({ event: "call", sandbox, key, call }),
  watching: (sandbox) => say({ event: "watching", sandbox }),
  lost: (sandbox, reason) => say({ event: "lost", sandbox, reason }),
  spent: (sandbox, purse, spent) => say({ event: "spent", sandbox, purse, spent }),
  misused: (sandbox, misuse) => say({ event: "misused", sandbox, misuse }),
});
hear = (event) => decider.hear(event);
listenForTunnels(inspector, (tunnel, socket) => decider.take(tunnel, socket));

readLines(process.stdin, (message) => {
  const order = orderSchema.parse(message);
  if (order.op === "protect") decider.protect(order);
  else if (order.op === "forget") decider.forget(order.sandbox);
  else if (order.op === "answer") questions.answer(order.question, order.isAllowed);
  else {
    decider.change(order.sandbox, order);
    say({ event: "changed", sandbox: order.sandbox, turn: order.turn });
  }
});
// Without the gateway there is nobody to say what is allowed.
process.stdin.once("end", () => process.exit(0));
