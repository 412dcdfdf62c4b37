import {
  type Action,
  type Approval,
  type DecideBody,
  decideBodySchema,
  egressRuleSchema,
  type GuardedNetwork,
  type NetworkRule,
  type Principal,
  SandboxerError,
} from "@sandboxer/contract";
import type { House } from "../house.ts";
import { grantedId } from "../network/granted.ts";
import { authorizeNetwork } from "../network/narrow.ts";
import { tellGuard } from "../network/terms.ts";
import { parse } from "../parse.ts";
import { authorize } from "../policy/authorize.ts";
import { authorizeSecrets } from "../secrets/may-use.ts";
import { findApproval, shown } from "./approvals.ts";
import { refuseRequester } from "./may-decide.ts";
import { OPERATION_PATIENCE_MS } from "./need.ts";

/** The word of somebody else, once. What was decided or has run out stays as it is. */
export async function decideApproval(
  house: House,
  principal: Principal,
  approvalId: string,
  body: DecideBody,
): Promise<Approval> {
  authorize(principal.chain, "approval.decide");
  const { decision, scope } = parse(decideBodySchema, body);
  const approval = await findApproval(house, principal, approvalId);
  refuseRequester(principal, approval);
  const { action, sandboxId, orgId, state } = approval;
  if (state !== "pending") throw over(state);
  const isYes = decision === "approve";
  const rule = isYes && scope === "sandbox" ? ruleOf(approvalId, action) : undefined;
  const atMs = house.clock.nowMs();
  const elevation =
    isYes && action.kind === "elevation"
      ? { rules: action.rules, untilMs: atMs + action.durationMs }
      : undefined;
  if (isYes) authorizeRules(principal, action);
  const decided = await house.store.decideApproval({
    orgId,
    approvalId,
    // What waits right now uses it right now; an operation comes back for it.
    to: !isYes ? "denied" : action.kind === "operation" ? "approved" : "used",
    scope,
    principalId: principal.id,
    atMs,
    usableUntilMs: atMs + OPERATION_PATIENCE_MS,
    rule,
    elevation,
  });
  if (!decided) throw over("over");
  const sandbox = (rule || elevation) && sandboxId && (await house.store.getSandboxById(sandboxId));
  if (sandbox) await tellGuard(house, sandbox);
  return shown(decided, principal);
}

/** Nobody opens for others what is closed to itself. */
function authorizeRules({ chain }: Principal, action: Action): void {
  if (action.kind === "signature") return authorizeSecrets(chain, action.key ? [action.key] : []);
  const rules =
    action.kind === "elevation" ? action.rules : action.kind === "operation" ? [] : [callRule(action)];
  const network: GuardedNetwork = { egress: "guarded", mode: "enforce", rules: [...rules], sets: [] };
  authorizeNetwork(chain, network);
}

function ruleOf(approvalId: string, action: Action): NetworkRule {
  const isCall = action.kind === "connection" || action.kind === "request";
  if (isCall && action.rule?.startsWith("dlp/")) {
    throw new SandboxerError(
      "invalid_request",
      "scope: what was found in a request is allowed once, or not",
      {
        hint: "Leave the scope out, or change what the network's `dlp` does.",
      },
    );
  }
  if (isCall) {
    return parse(egressRuleSchema, { ...callRule(action), id: grantedId(approvalId) });
  }
  throw new SandboxerError(
    "invalid_request",
    "scope: only connections and requests can be allowed for a sandbox",
  );
}

/** As narrow as what was asked: of a query each member that is there once, as rules have them. */
function callRule(call: Extract<Action, { kind: "connection" | "request" }>): NetworkRule {
  const { host, port, method, path } = call;
  const asked = new URLSearchParams(call.query ?? "");
  const members = [...asked].filter(([name]) => name !== "" && asked.getAll(name).length === 1);
  const protocol = call.protocol === "ssh" ? "tcp" : call.protocol;
  const what = {
    ...(method && { methods: [method] }),
    ...(path && { paths: [path.replaceAll("*", "%2A")] }),
    ...(members.length > 0 && { query: Object.fromEntries(members) }),
  };
  return { effect: "allow", host, protocol, ports: [port], ...what };
}

function over(state: string): SandboxerError {
  return new SandboxerError("invalid_state", `it is ${state}; nothing waits for a word`);
}
