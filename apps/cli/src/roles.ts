import { OPERATIONS, ROLES } from "@sandboxer/contract/roles";

/** From the one table there is, so that what the help says is what a key gets. */
export function rolesInWords(): string {
  const viewer: readonly string[] = ROLES.viewer;
  const more = ROLES.operator.filter((operation) => !viewer.includes(operation));
  const beyond = OPERATIONS.filter((operation) => !(ROLES.operator as readonly string[]).includes(operation));
  return [
    "Roles:",
    `  viewer    ${viewer.join(", ")}`,
    `  operator  what a viewer may, and ${more.join(", ")}`,
    `  admin     what an operator may, and ${beyond.join(", ")}`,
    "",
    "Whatever the role, a key never holds what the key that made it does not.",
  ].join("\n");
}
