export { openBox } from "./box.ts";
export { Connection } from "./connection.ts";
export { dial } from "./dial.ts";
