export { createLocalExtension, type LocalOptions } from "./extension.ts";
