import { SandboxerError } from "@sandboxer/contract";
import { findLiving } from "./find.ts";
import { may } from "./may.ts";
import { wholeIn } from "./query.ts";
import { control } from "./route.ts";
import { sampleOf } from "./sample.ts";

const MOST_AT_ONCE = 100;

export const metricRoutes = [
  control(
    { method: "GET", path: "/sandboxes/metrics", operation: "sandbox.read" },
    async ({ core, principal, query }) => {
      await may({ core, principal }, "sandbox.read");
      const ids = new Set(query.getAll("sandbox_ids").flatMap((text) => text.split(",")));
      if (ids.size > MOST_AT_ONCE) {
        const why = `Too many sandboxes requested, maximum is ${MOST_AT_ONCE}`;
        throw new SandboxerError("invalid_request", why);
      }
      if (ids.size === 0 || ids.has("")) throw new SandboxerError("invalid_request", "Invalid sandbox ID");
      const sampled = [...ids].map(async (asked) => {
        const sandbox = await findLiving(core, principal, asked);
        return [sandbox.id, await sampleOf(core, principal, sandbox)] as const;
      });
      // What is gone or another's has nothing to show, and is no reason to show nothing.
      const found = (await Promise.allSettled(sampled)).flatMap((one) =>
        one.status === "fulfilled" ? [one.value] : [],
      );
      return { status: 200, body: { sandboxes: Object.fromEntries(found) } };
    },
  ),
  control(
    { method: "GET", path: "/sandboxes/{id}/metrics", operation: "sandbox.read" },
    async ({ core, principal, params, query }) => {
      const start = wholeIn(query, "start", { least: 0 }) ?? 0;
      const end = wholeIn(query, "end", { least: 0 }) || Number.POSITIVE_INFINITY;
      const sandbox = await findLiving(core, principal, params.id ?? "");
      const sample = await sampleOf(core, principal, sandbox);
      const isAsked = sample.timestampUnix >= start && sample.timestampUnix <= end;
      return { status: 200, body: isAsked ? [sample] : [] };
    },
  ),
];
