/** What a key may do. A key without an operation is refused before anything is looked at. */
export const OPERATIONS = [
  "sandbox.create",
  "sandbox.read",
  "sandbox.exec",
  "sandbox.files",
  "sandbox.ports",
  "sandbox.extend",
  "sandbox.pause",
  "sandbox.network",
  "sandbox.destroy",
  "sandbox.attach",
  "sandbox.snapshot",
  "workspace.mount",
  "workspace.apply",
  "image.write",
  "key.create",
  "key.read",
  "key.revoke",
  "budget.write",
  "profile.publish",
  "event.read",
  "webhook.write",
  "approval.read",
  "approval.decide",
  "sandbox.elevate",
  "secret.read",
  "secret.write",
  "volume.read",
  "volume.write",
  "org.write",
] as const;
export type Operation = (typeof OPERATIONS)[number];

const VIEWER = [
  "sandbox.read",
  "key.read",
  "event.read",
  "secret.read",
  "volume.read",
  "approval.read",
] as const satisfies Operation[];
const OPERATOR = [
  ...VIEWER,
  "sandbox.create",
  "sandbox.exec",
  "sandbox.files",
  "sandbox.pause",
  "sandbox.extend",
  "sandbox.destroy",
  "sandbox.snapshot",
  "sandbox.attach",
  "sandbox.elevate",
  "volume.write",
] as const satisfies Operation[];

/** Roles are names for operations, nothing more. An admin has all there are. */
export const ROLES = {
  viewer: VIEWER,
  operator: OPERATOR,
  admin: OPERATIONS,
} as const satisfies Record<string, readonly Operation[]>;
export type Role = keyof typeof ROLES;
