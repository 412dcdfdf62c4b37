/** Which process began a sandbox, so that the next one knows when nobody will finish it. */
export const CREATORS = "ALTER TABLE sandboxes ADD COLUMN creator TEXT";
