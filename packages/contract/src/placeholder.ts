/**
 * In every placeholder of every sandbox, wherever and whenever it was made, after the beginning that
 * all secrets of its kind have: so one that is not a sandbox's own is known by its letters. Digits
 * that the alphabets of all shapes have. In two halves, or these very lines could not leave a sandbox.
 */
export const PLACEHOLDER_MARK: string = ["573264", "275436"].join("");
