export { createLocalExtension, type LocalOptions } from "./extension.ts";
export { LOCAL_FAIL_POINTS } from "./failpoint.ts";
