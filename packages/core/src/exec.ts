import {
  type ExecInput,
  type ExecRequest,
  execRequestSchema,
  type Principal,
  type Process,
  type Sandbox,
} from "@sandboxer/contract";
import { needApproval } from "./approvals/need.ts";
import { actingIn } from "./attachments/acting.ts";
import { actAs, userOf } from "./attachments/confine.ts";
import { demand } from "./facet.ts";
import type { House } from "./house.ts";
import { leasedProcess } from "./leased.ts";
import { tellGuard } from "./network/terms.ts";
import { parse } from "./parse.ts";
import { pointsKept } from "./points.ts";
import { authorize } from "./policy/authorize.ts";
import { reach } from "./reach.ts";
import { pullAfter, pushBefore } from "./sync.ts";

const LONGEST_PROGRAM_NAME = 256;

export async function exec(
  house: House,
  principal: Principal,
  idOrName: string,
  input: ExecInput,
): Promise<Process> {
  authorize(principal.chain, "sandbox.exec");
  const request = parse(execRequestSchema, input);
  const { sandbox, box } = await reach(house, principal, "sandbox.exec", idOrName);
  if (request.pty) demand("pty", box.pty);
  const { argv, cwd, user, env, stdin, pty } = request;
  // Of what is typed later nobody can be asked now: whoever decides is to know that there may be more.
  const said = { argv, cwd, user, variables: Object.keys(env), ...((stdin || pty) && { reads: true }) };
  const attachment = await actingIn(house, principal, sandbox);
  await needApproval(house, principal, "sandbox.exec", { sandbox, spec: sandbox.spec, said, exact: request });
  const { id: sandboxId, orgId } = sandbox;
  // A first use may have made it, and it may have less than those before it.
  if (attachment.rules || attachment.secrets) await tellGuard(house, sandbox);
  const acting = { ...inWorkspace(request, sandbox), ...actAs(await userOf(attachment, box), request.user) };
  await pushBefore(house, principal, sandbox, box);
  house.pass("exec.attached");
  // The program's name only: arguments and variables may hold secrets, and the log is forever.
  await house.journal.record({
    type: "process.started",
    orgId,
    atMs: house.clock.nowMs(),
    sandboxId,
    principalId: principal.id,
    data: { program: request.argv[0]?.slice(0, LONGEST_PROGRAM_NAME), attachmentId: attachment.id },
  });
  house.pass("exec.recorded");
  house.auditor.ran(sandboxId, request.argv[0] ?? "");
  const process = await box.exec(acting, attachment.id, pointsKept(sandbox));
  house.pass("exec.started");
  const synced = pullAfter(house, principal, sandbox, box, process);
  return leasedProcess(house.leases, principal, box, synced, "starter");
}

/** Where there is a project, commands are about it; of one that is shown boxd itself knows. */
function inWorkspace(request: ExecRequest, { spec: { workspace } }: Sandbox): ExecRequest {
  const isCopy = workspace?.mode === "mirror" || workspace?.mode === "remote";
  return isCopy && request.cwd === undefined ? { ...request, cwd: workspace.target } : request;
}
