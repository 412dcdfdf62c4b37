/** What becomes of a cell stands in one line behind a mark, and a longer one is taken for text. */
export const LONGEST_FORM = 48 << 20;

/** What is said instead, with the MiB that it would take. */
export const TOO_LONG = `a result of %d MiB is more than the ${LONGEST_FORM >> 20} MiB that are told`;
