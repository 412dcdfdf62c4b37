import { NAMES, pairsOf, type Said, valuesOf, type Word } from "./words.ts";

const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
const anyOf = (words: readonly string[]) => words.map(quote).join("|");
/** As `_describe` reads it: the word, a colon, what it is. */
const described = (all: readonly Said[]) =>
  all.map(({ word, description }) => quote(description ? `${word}:${description}` : word)).join(" ");

/** For `source <(…)` as well as for a file `_sandboxer` in a folder of `fpath`. */
export function zsh(words: readonly Word[]): string {
  const cases = words.map(({ name, options, next, takesSandbox }) => {
    const names = takesSandbox ? ` "\${(@f)$(${NAMES})}"` : "";
    return `    ${quote(name)}) offered=(${described(next)}${names}) options=(${described(options)}) ;;`;
  });
  const values = valuesOf(words);
  const known = values.flatMap(({ behind, choices }) =>
    choices.length > 0 ? `    ${anyOf(behind)}) compadd -- ${choices.map(quote).join(" ")}; return ;;` : [],
  );
  const open = values.flatMap(({ behind, choices }) => (choices.length > 0 ? [] : behind));
  return `#compdef sandboxer
_sandboxer() {
  local command=""
  local -a offered options
  if (( \${words[(I)--]} > 0 && \${words[(i)--]} < CURRENT )); then
    _files
    return
  fi
  (( CURRENT > 2 )) && command="$words[2]"
  if (( CURRENT > 3 )); then
    case "$words[2] $words[3]" in
      ${anyOf(pairsOf(words))}) command="$words[2] $words[3]" ;;
    esac
  fi
  case "$command $words[CURRENT-1]" in
${known.join("\n")}
    ${anyOf(open)}) _files; return ;;
  esac
  case "$command" in
${cases.join("\n")}
  esac
  if [[ "$PREFIX" == -* ]]; then
    _describe -o option options
  else
    offered=(\${offered:#})
    _describe word offered || _files
  fi
}
if [[ "$funcstack[1]" == _sandboxer ]]; then
  _sandboxer "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i; }
  compdef _sandboxer sandboxer
fi
`;
}
