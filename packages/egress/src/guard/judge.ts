import {
  type Asked,
  type AskedRequest,
  type Decision,
  decideConnection,
  decideRequest,
} from "../policy/decide.ts";
import { userMayReach } from "../policy/users.ts";
import type { Ward } from "./ward.ts";

/** By the sandbox's rules, and by those of whoever in it asks. */
export function judgeConnection({ policy, users }: Ward, uid: number, asked: Asked): Decision {
  return userMayReach(users, uid, asked.host, asked.port)
    ? decideConnection(policy, asked)
    : notTheirs(asked);
}

export function judgeRequest({ policy, users }: Ward, uid: number, asked: AskedRequest): Decision {
  return userMayReach(users, uid, asked.host, asked.port) ? decideRequest(policy, asked) : notTheirs(asked);
}

function notTheirs({ host, port }: Asked): Decision {
  return { verdict: "denied", rule: "attachment", reason: `whoever asks may not reach ${host}:${port}` };
}
