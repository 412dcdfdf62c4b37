export { openBox } from "./box.ts";
export { openChanges } from "./changes.ts";
export { Connection } from "./connection.ts";
export { dial } from "./dial.ts";
export { openSnapshots } from "./snapshots.ts";
