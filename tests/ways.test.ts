import type { Core } from "@sandboxer/core";
import { expect, it } from "vitest";
import { buildProgram } from "../apps/cli/src/program.ts";
import { documentOf } from "../apps/gateway/src/openapi/document.ts";
import { ROUTES } from "../apps/gateway/src/rest/table.ts";
import { verbsOf } from "../packages/core/src/verbs.ts";

type Command = Awaited<ReturnType<typeof buildProgram>>;

interface Ways {
  readonly rest: readonly string[];
  readonly cli: readonly string[];
}

/** Verbs that a way in needs for itself: no caller has a use for them by name. */
type Inner =
  | "authenticate"
  | "enterPreview"
  | "openAccess"
  | "enterAccess"
  | "openVolume"
  | "standIn"
  | "actFor"
  | "makersOf"
  | "listMarked"
  | "admit"
  | "census";

const SANDBOX = "/v1/sandboxes/{id}";

/** Each verb of the waist, and how it is reached. A verb that is missing here does not compile. */
const WAYS: Readonly<Record<Exclude<keyof Core, Inner | "start" | "close">, Ways>> = {
  whoami: { rest: ["GET /v1/whoami"], cli: ["whoami"] },
  challengeIdentity: { rest: ["POST /v1/identity/challenge"], cli: ["keys prove"] },
  proveIdentity: { rest: ["POST /v1/identity/proof"], cli: ["keys prove"] },
  createOrg: { rest: ["POST /v1/orgs"], cli: ["orgs create"] },
  listOrgs: { rest: ["GET /v1/orgs"], cli: ["orgs ls"] },
  createKey: { rest: ["POST /v1/keys"], cli: ["keys create"] },
  listKeys: { rest: ["GET /v1/keys"], cli: ["keys ls"] },
  revokeKey: { rest: ["DELETE /v1/keys/{key}"], cli: ["keys revoke"] },
  getBudget: { rest: ["GET /v1/budget"], cli: ["budget show"] },
  setBudget: { rest: ["PUT /v1/budget"], cli: ["budget set"] },
  setKeyBudget: { rest: ["PUT /v1/keys/{key}/budget"], cli: ["keys budget"] },
  listProfiles: { rest: ["GET /v1/profiles"], cli: ["profiles ls"] },
  getProfile: { rest: ["GET /v1/profiles/{ref}"], cli: ["profiles show"] },
  publishProfile: { rest: ["POST /v1/profiles"], cli: ["profiles publish"] },
  deprecateProfile: { rest: ["POST /v1/profiles/{ref}/deprecate"], cli: ["profiles deprecate"] },
  suggestProfile: { rest: ["POST /v1/profiles/suggest"], cli: ["profiles suggest"] },
  importPolicy: {
    rest: ["POST /v1/profiles/import-openshell"],
    cli: ["profiles import-openshell"],
  },
  create: { rest: ["POST /v1/sandboxes"], cli: ["create", "run", "restore", "profiles verify"] },
  recreate: { rest: [`POST ${SANDBOX}/recreate`], cli: ["recreate"] },
  reachability: { rest: [`GET ${SANDBOX}/reachability`], cli: ["reach"] },
  get: { rest: [`GET ${SANDBOX}`], cli: ["inspect"] },
  list: { rest: ["GET /v1/sandboxes"], cli: ["ls"] },
  receipt: { rest: [`GET ${SANDBOX}/receipt`], cli: ["receipt"] },
  extend: { rest: [`POST ${SANDBOX}/extend`], cli: ["extend"] },
  pause: { rest: [`POST ${SANDBOX}/pause`], cli: ["pause"] },
  resume: { rest: [`POST ${SANDBOX}/resume`, `POST ${SANDBOX}/start`], cli: ["resume", "start"] },
  stop: { rest: [`POST ${SANDBOX}/stop`], cli: ["stop"] },
  destroy: { rest: [`DELETE ${SANDBOX}`], cli: ["rm"] },
  metrics: { rest: [`GET ${SANDBOX}/metrics`], cli: ["stats"] },
  changeNetwork: { rest: [`PUT ${SANDBOX}/network`], cli: ["net"] },
  networkCalls: { rest: [`GET ${SANDBOX}/network/calls`], cli: ["net"] },
  explain: { rest: ["POST /v1/route/explain"], cli: ["route explain"] },
  attach: { rest: ["POST /v1/attachments"], cli: ["attach"] },
  detach: { rest: ["DELETE /v1/attachments/{attachment}"], cli: ["detach"] },
  listAttachments: { rest: [`GET ${SANDBOX}/attachments`], cli: ["attachments"] },
  exec: {
    rest: [
      `POST ${SANDBOX}/exec`,
      `GET ${SANDBOX}/exec`,
      `POST ${SANDBOX}/processes/{process}/stdin`,
      `POST ${SANDBOX}/processes/{process}/signal`,
    ],
    cli: ["exec", "shell", "kill"],
  },
  attachProcess: { rest: [`GET ${SANDBOX}/processes/{process}/output`], cli: ["logs"] },
  ps: { rest: [`GET ${SANDBOX}/processes`], cli: ["ps"] },
  resize: { rest: [`POST ${SANDBOX}/processes/{process}/resize`], cli: ["shell"] },
  dial: {
    rest: [
      `POST ${SANDBOX}/ports/{port}/connections`,
      `POST ${SANDBOX}/ports/{port}/connections/{connection}/input`,
    ],
    cli: ["forward"],
  },
  openPreview: { rest: [`POST ${SANDBOX}/previews`], cli: ["preview"] },
  files: {
    rest: ["content", "stat", "list"]
      .map((one) => `GET ${SANDBOX}/files/${one}`)
      .concat(["content", "xattrs", "archive"].map((one) => `PUT ${SANDBOX}/files/${one}`))
      .concat(["mkdir", "move", "chmod", "symlink"].map((one) => `POST ${SANDBOX}/files/${one}`))
      .concat(["xattrs", "archive", "watch"].map((one) => `GET ${SANDBOX}/files/${one}`))
      .concat([`DELETE ${SANDBOX}/files`, `DELETE ${SANDBOX}/files/xattrs`]),
    cli: ["cp"],
  },
  diff: { rest: [`POST ${SANDBOX}/workspace/diff`], cli: ["diff"] },
  apply: { rest: [`POST ${SANDBOX}/workspace/apply`], cli: ["apply"] },
  rollback: { rest: [`POST ${SANDBOX}/workspace/rollback`], cli: ["rollback"] },
  listPoints: { rest: [`GET ${SANDBOX}/workspace/points`], cli: ["rollback"] },
  sync: { rest: [`POST ${SANDBOX}/workspace/sync`], cli: ["sync"] },
  takeSnapshot: { rest: [`POST ${SANDBOX}/snapshots`], cli: ["snapshot"] },
  fork: { rest: [`POST ${SANDBOX}/fork`], cli: ["fork"] },
  listSnapshots: { rest: ["GET /v1/snapshots"], cli: ["snapshots ls"] },
  deleteSnapshot: { rest: ["DELETE /v1/snapshots/{snapshot}"], cli: ["snapshots rm"] },
  exportSnapshot: { rest: ["GET /v1/snapshots/{snapshot}/archive"], cli: ["snapshots export"] },
  importSnapshot: { rest: ["PUT /v1/snapshots"], cli: ["snapshots import"] },
  listImages: { rest: ["GET /v1/images"], cli: ["images ls", "images inspect"] },
  pullImage: { rest: ["POST /v1/images/pull"], cli: ["images pull"] },
  importImage: { rest: ["PUT /v1/images"], cli: ["images import"] },
  removeImage: { rest: ["DELETE /v1/images"], cli: ["images rm"] },
  pruneImages: { rest: ["POST /v1/images/prune"], cli: ["images prune"] },
  listEvents: { rest: ["GET /v1/events/page"], cli: ["events"] },
  followEvents: { rest: ["GET /v1/events"], cli: ["events"] },
  verifyAudit: { rest: ["GET /v1/audit/verify"], cli: ["audit verify"] },
  createWebhook: { rest: ["POST /v1/webhooks"], cli: ["webhooks create"] },
  listWebhooks: { rest: ["GET /v1/webhooks"], cli: ["webhooks ls"] },
  deleteWebhook: { rest: ["DELETE /v1/webhooks/{webhook}"], cli: ["webhooks rm"] },
  setSecret: { rest: ["PUT /v1/secrets/{secret}"], cli: ["secrets set"] },
  listSecrets: { rest: ["GET /v1/secrets"], cli: ["secrets ls"] },
  rotateSecret: { rest: ["POST /v1/secrets/{secret}/rotate"], cli: ["secrets rotate"] },
  grantSecret: { rest: ["POST /v1/secrets/{secret}/grants"], cli: ["secrets grant"] },
  revokeSecret: { rest: ["DELETE /v1/secrets/{secret}/grants/{grantee}"], cli: ["secrets revoke"] },
  deleteSecret: { rest: ["DELETE /v1/secrets/{secret}"], cli: ["secrets rm"] },
  createVolume: { rest: ["POST /v1/volumes"], cli: ["volumes create"] },
  listVolumes: { rest: ["GET /v1/volumes"], cli: ["volumes ls"] },
  getVolume: { rest: ["GET /v1/volumes/{volume}"], cli: ["volumes rm"] },
  deleteVolume: { rest: ["DELETE /v1/volumes/{volume}"], cli: ["volumes rm"] },
  listApprovals: { rest: ["GET /v1/approvals"], cli: ["approvals ls", "approvals watch"] },
  getApproval: { rest: ["GET /v1/approvals/{approval}"], cli: ["approvals show"] },
  decideApproval: {
    rest: ["POST /v1/approvals/{approval}/decide"],
    cli: ["approvals approve", "approvals deny"],
  },
  elevate: { rest: [`POST ${SANDBOX}/elevations`], cli: ["elevate"] },
  endElevations: { rest: [`DELETE ${SANDBOX}/elevations`], cli: ["elevate"] },
  listStored: { rest: ["GET /v1/store"], cli: ["store ls"] },
  prune: { rest: ["POST /v1/store/prune"], cli: ["store prune"] },
  doctor: { rest: ["GET /v1/doctor"], cli: ["doctor"] },
};

/** Of the installation rather than of a verb: health, figures, descriptions, and what works on this machine. */
const OF_NO_VERB: Ways = {
  rest: ["GET /health", "GET /metrics", "GET /v1/openapi.json", "GET /v1/reference", "preview"],
  cli: [
    ...["up", "backup", "backup restore", "env", "completion", "profiles schema"],
    ...["store make", "store mount", "store unmount"],
  ],
};

/** What creates: each takes an idempotency key, both ways. What is put under a name of the caller's needs none. */
const CREATES: readonly (keyof typeof WAYS)[] = [
  ...(["create", "recreate", "takeSnapshot", "fork", "importSnapshot", "attach", "createOrg"] as const),
  ...(["createKey", "publishProfile", "createWebhook", "createVolume", "elevate"] as const),
];

function leavesOf(command: Command, above: readonly string[] = []): Map<string, Command> {
  const own = command.commands.flatMap((one) => {
    const path = [...above, one.name()];
    const inner = [...leavesOf(one, path)];
    const acts = inner.length === 0 || one.registeredArguments.length > 0;
    return acts ? [[path.join(" "), one] as const, ...inner] : inner;
  });
  return new Map(own);
}

const commands = leavesOf(await buildProgram("0"));
const { paths } = documentOf(ROUTES) as { paths: Record<string, Record<string, { "x-way"?: string }>> };
const routes = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { "x-way": way }]) =>
    way === "preview" ? way : `${method.toUpperCase()} ${path}`,
  ),
);

it("knows every verb of the waist", () => {
  const verbs = Object.keys(verbsOf(() => async () => undefined as never));
  const inner: Inner[] = ["authenticate", "enterPreview", "openAccess", "enterAccess", "openVolume"];
  const house: Inner[] = ["standIn", "actFor", "makersOf", "listMarked", "admit", "census"];
  expect([...Object.keys(WAYS), ...inner, ...house].sort()).toEqual(verbs.sort());
});

it("reaches each verb by REST and by command line, and has no way in that leads to none", () => {
  const all = [...Object.values(WAYS), OF_NO_VERB];
  expect([...new Set(all.flatMap(({ rest }) => rest))].sort()).toEqual([...new Set(routes)].sort());
  expect([...new Set(all.flatMap(({ cli }) => cli))].sort()).toEqual([...commands.keys()].sort());
  for (const [verb, { rest, cli }] of Object.entries(WAYS)) {
    expect(Math.min(rest.length, cli.length), verb).toBeGreaterThan(0);
  }
});

it.each(CREATES)("AZ-4 %s takes an idempotency key by REST and by command line", (verb) => {
  const [first = ""] = WAYS[verb].rest;
  expect(ROUTES.find(({ method, path }) => `${method} ${path}` === first)?.idempotent).toBe(true);
  const [command = ""] = WAYS[verb].cli;
  expect(commands.get(command)?.options.map(({ long }) => long)).toContain("--idempotency-key");
});

it("AZ-4 nothing else that answers `201 Created` forgets what was asked before", () => {
  const creating = ROUTES.filter(({ answer }) => answer.type === "json" && answer.status === 201);
  const forgetful = creating.filter(({ idempotent }) => !idempotent);
  // An address is a signed word, an image is kept under its digest: asked twice, there is nothing twice.
  expect(forgetful.map(({ method, path }) => `${method} ${path}`)).toEqual([
    `POST ${SANDBOX}/previews`,
    "PUT /v1/images",
  ]);
});
