export { openBox } from "./box.ts";
export { Connection } from "./connection.ts";
