import {
  type Asked,
  type AskedRequest,
  type Decision,
  decideConnection,
  decideRequest,
  read,
} from "../policy/decide.ts";
import { userMayReach } from "../policy/users.ts";
import { withinBudget } from "./budgets.ts";
import type { Ward } from "./ward.ts";

/** By the sandbox's rules, and by those of whoever in it asks. */
export function judgeConnection(ward: Ward, uid: number, asked: Asked): Decision {
  return withinBudget(ward, asked, judge(ward, uid, asked));
}

function judge({ policy, users, book, terms }: Ward, uid: number, asked: Asked): Decision {
  if (!userMayReach(users, uid, asked.host, asked.port)) return notTheirs(asked);
  const decision = decideConnection(policy, asked);
  if (decision.verdict === "denied" || decision.carriage !== "tls") return decision;
  // What a secret is put into, or must not be sent to, has to be read; so has what is looked through.
  const isRead = terms.network.dlp !== undefined || book.isBoundTo(asked.host, asked.port);
  return isRead ? read(decision) : decision;
}

export function judgeRequest(ward: Ward, uid: number, asked: AskedRequest): Decision {
  if (!userMayReach(ward.users, uid, asked.host, asked.port)) return notTheirs(asked);
  return withinBudget(ward, asked, decideRequest(ward.policy, asked));
}

function notTheirs({ host, port }: Asked): Decision {
  return { verdict: "denied", rule: "attachment", reason: `whoever asks may not reach ${host}:${port}` };
}
