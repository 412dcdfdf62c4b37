import { actFor, enterAccess, listMarked, makersOf, openAccess, openVolume, standIn } from "./access.ts";
import { admit } from "./admit.ts";
import { apply } from "./apply.ts";
import { getApproval, listApprovals } from "./approvals/approvals.ts";
import { decideApproval } from "./approvals/decide.ts";
import { elevate, endElevations } from "./approvals/elevate.ts";
import { attachProcess } from "./attach-process.ts";
import { attach } from "./attachments/attach.ts";
import { detach, listAttachments } from "./attachments/detach.ts";
import { getBudget, setBudget, setKeyBudget } from "./budget.ts";
import { census } from "./census.ts";
import type { Core } from "./core.ts";
import { create } from "./create.ts";
import { destroy } from "./destroy.ts";
import { dial } from "./dial.ts";
import { diff } from "./diff.ts";
import { followEvents, listEvents, verifyAudit } from "./events/follow.ts";
import { exec } from "./exec.ts";
import { explain } from "./explain.ts";
import { extend } from "./extend.ts";
import { files } from "./files.ts";
import { get } from "./get.ts";
import type { House } from "./house.ts";
import { importImage, listImages, pruneImages, pullImage, removeImage } from "./images.ts";
import { authenticate, createKey, listKeys, revokeKey, whoami } from "./keys.ts";
import { list } from "./list.ts";
import { metrics } from "./metrics.ts";
import { changeNetwork, networkCalls } from "./network/network.ts";
import { createOrg, listOrgs } from "./orgs.ts";
import { pause } from "./pause.ts";
import { listPoints } from "./points.ts";
import { enterPreview, openPreview } from "./preview.ts";
import { listProfiles } from "./profiles/offers.ts";
import { importPolicy } from "./profiles/openshell/import.ts";
import { deprecateProfile, getProfile, publishProfile } from "./profiles/profiles.ts";
import { suggestProfile } from "./profiles/suggest.ts";
import { ps } from "./ps.ts";
import { reachability } from "./reachability.ts";
import { receipt } from "./receipt.ts";
import { recreate } from "./recreate.ts";
import { resize } from "./resize.ts";
import { resume } from "./resume.ts";
import { rollback } from "./rollback.ts";
import { grantSecret, revokeSecret } from "./secrets/grants.ts";
import { deleteSecret, listSecrets, rotateSecret, setSecret } from "./secrets/secrets.ts";
import { fork } from "./snapshots/fork.ts";
import { deleteSnapshot, exportSnapshot, importSnapshot, listSnapshots } from "./snapshots/snapshots.ts";
import { takeSnapshot } from "./snapshots/take.ts";
import { stop } from "./stop.ts";
import { listStored, prune } from "./stored.ts";
import { sync } from "./sync.ts";
import { challengeIdentity, proveIdentity } from "./trust/identity.ts";
import { createVolume, deleteVolume, getVolume, listVolumes } from "./volumes/volumes.ts";
import { createWebhook, deleteWebhook, listWebhooks } from "./webhooks/webhooks.ts";

/** Gives a verb its house. */
type Verb = <Arguments extends unknown[], Result>(
  verb: (house: House, ...given: Arguments) => Promise<Result>,
) => (...given: Arguments) => Promise<Result>;

/** Every verb there is, but for the beginning and the end. */
export function verbsOf(verb: Verb): Omit<Core, "start" | "close"> {
  return {
    authenticate: verb(authenticate),
    whoami: verb(whoami),
    challengeIdentity: verb(challengeIdentity),
    proveIdentity: verb(proveIdentity),
    createOrg: verb(createOrg),
    listOrgs: verb(listOrgs),
    createKey: verb(createKey),
    listKeys: verb(listKeys),
    revokeKey: verb(revokeKey),
    listProfiles: verb(listProfiles),
    getProfile: verb(getProfile),
    publishProfile: verb(publishProfile),
    deprecateProfile: verb(deprecateProfile),
    suggestProfile: verb(suggestProfile),
    importPolicy: verb(importPolicy),
    create: verb(create),
    recreate: verb(recreate),
    reachability: verb(reachability),
    get: verb(get),
    admit: verb(admit),
    list: verb(list),
    openPreview: verb(openPreview),
    enterPreview: verb(enterPreview),
    openAccess: verb(openAccess),
    enterAccess: verb(enterAccess),
    standIn: verb(standIn),
    actFor: verb(actFor),
    makersOf: verb(makersOf),
    listMarked: verb(listMarked),
    ...insideVerbs(verb),
    receipt: verb(receipt),
    attach: verb(attach),
    detach: verb(detach),
    listAttachments: verb(listAttachments),
    extend: verb(extend),
    pause: verb(pause),
    resume: verb(resume),
    stop: verb(stop),
    metrics: verb(metrics),
    changeNetwork: verb(changeNetwork),
    networkCalls: verb(networkCalls),
    destroy: verb(destroy),
    getBudget: verb(getBudget),
    setBudget: verb(setBudget),
    setKeyBudget: verb(setKeyBudget),
    explain: verb(explain),
    listEvents: verb(listEvents),
    followEvents: verb(followEvents),
    verifyAudit: verb(verifyAudit),
    ...trustVerbs(verb),
    createWebhook: verb(createWebhook),
    listWebhooks: verb(listWebhooks),
    deleteWebhook: verb(deleteWebhook),
    census: verb(census),
    listStored: verb(listStored),
    prune: verb(prune),
    doctor: verb((house) => house.registry.doctor()),
  };
}

/** Secrets, volumes, and what waits for somebody's word. */
function trustVerbs(verb: Verb) {
  return {
    setSecret: verb(setSecret),
    listSecrets: verb(listSecrets),
    rotateSecret: verb(rotateSecret),
    grantSecret: verb(grantSecret),
    revokeSecret: verb(revokeSecret),
    deleteSecret: verb(deleteSecret),
    createVolume: verb(createVolume),
    listVolumes: verb(listVolumes),
    getVolume: verb(getVolume),
    deleteVolume: verb(deleteVolume),
    openVolume: verb(openVolume),
    listApprovals: verb(listApprovals),
    getApproval: verb(getApproval),
    decideApproval: verb(decideApproval),
    elevate: verb(elevate),
    endElevations: verb(endElevations),
  };
}

/** What happens inside a sandbox, and with what it works on. */
function insideVerbs(verb: Verb) {
  return {
    exec: verb(exec),
    attachProcess: verb(attachProcess),
    ps: verb(ps),
    resize: verb(resize),
    dial: verb(dial),
    files: verb(files),
    diff: verb(diff),
    apply: verb(apply),
    rollback: verb(rollback),
    listPoints: verb(listPoints),
    sync: verb(sync),
    takeSnapshot: verb(takeSnapshot),
    fork: verb(fork),
    listSnapshots: verb(listSnapshots),
    deleteSnapshot: verb(deleteSnapshot),
    exportSnapshot: verb(exportSnapshot),
    importSnapshot: verb(importSnapshot),
    listImages: verb(listImages),
    pullImage: verb(pullImage),
    importImage: verb(importImage),
    removeImage: verb(removeImage),
    pruneImages: verb(pruneImages),
  };
}
