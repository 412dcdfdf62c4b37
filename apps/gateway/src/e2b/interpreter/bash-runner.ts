/**
 * The same for bash, which knows no JSON: a cell comes as one line of base64, and its end is told
 * by a mark on both streams. The mark is drawn for each run of the shell and is in no variable of it.
 * Streams that a cell turns elsewhere, and options by which the next failure would end the shell, are
 * its own. The end is told where the loop begins anew, since a cell may `continue` it, or `break` it.
 */
export const bashRunner = (mark: string): string => String.raw`
__count=-1
while :; do
  while
    { __status=$?; set +eux; } 2>/dev/null
    builtin eval "$__after"; __after= IFS=$' \t\n'; trap : INT
    if ((++__count)); then
      ((__status)) && __became="&type=error&name=ExitCode&value=$__status&traceback=exit+code+$__status" || __became=
      builtin printf '%s count=%s%s\n' '${mark}' "$__count" "$__became" >&61
      builtin printf '%s %s\n' '${mark}' "$__count" >&62
    fi
    IFS= builtin read -r __line <&60 || builtin exit
  do
    builtin eval "$(builtin printf %s "$__line" | command -p base64 -d)" </dev/null >&61 2>&62
  done
done
`;

/** Standard input is for cells alone. */
export const WITH_INPUT = [
  "/bin/bash",
  "-c",
  'exec 60<&0 61>&1 62>&2 </dev/null; eval "$1"',
  "bash",
] as const;
