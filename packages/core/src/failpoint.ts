/** Between every two side effects of a verb, in the order in which it passes them. */
export const FAIL_POINTS = [
  "create.planned",
  "create.held",
  "create.made",
  "create.set-up",
  "create.kept",
  "create.prepared",
  "create.settled",
  "create.refused",
  "create.discarded",
  "create.failed",
  "exec.attached",
  "exec.recorded",
  "exec.started",
  "rollback.done",
  "pause.stopped",
  "pause.written",
  "resume.started",
  "resume.written",
  "stop.stopped",
  "stop.written",
  "start.started",
  "start.written",
  "snapshot.drafted",
  "snapshot.placed",
  "restore.begun",
  "restore.done",
  "fork.frozen",
  "destroy.begun",
  "destroy.ended",
  "destroy.finished",
  "attach.joined",
  "attach.welcomed",
  "detach.left",
  "detach.settled",
  "claim.planned",
  "claim.done",
  "recreate.ended",
  "gone.noticed",
  "gone.marked",
] as const;

/**
 * Told of every place that is passed. A test has the gateway killed there, and proves that the next
 * start puts right what it left; nobody else is told.
 */
export type PassFailPoint = (place: (typeof FAIL_POINTS)[number]) => void;
