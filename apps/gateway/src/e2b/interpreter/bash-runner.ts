/**
 * The same for bash, which knows no JSON: a cell comes as one line of base64, and its end is told
 * by a mark on both streams. The mark is drawn for each run of the shell and is in no variable of it.
 */
export const bashRunner = (mark: string): string => String.raw`
trap : INT
while IFS= read -r __line <&4; do
  eval "$(printf %s "$__line" | base64 -d)" </dev/null
  printf '%s %s\n' '${mark}' "$?"
  printf '%s\n' '${mark}' >&2
done
`;

/** Standard input is for cells alone. */
export const WITH_INPUT = ["/bin/bash", "-c", 'exec 4<&0 </dev/null; eval "$1"', "bash"] as const;
