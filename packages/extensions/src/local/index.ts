export { createLocalExtension, type LocalOptions } from "./extension.ts";
export { IMAGE_FAIL_POINTS, LOCAL_FAIL_POINTS } from "./failpoint.ts";
