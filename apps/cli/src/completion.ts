/** One command, or `parent child`. */
export interface Word {
  readonly name: string;
  readonly description: string;
  readonly options: readonly string[];
  /** Its first argument is a sandbox, whose names are asked for when they are needed. */
  readonly takesSandbox: boolean;
}

const NAMES = "sandboxer ls --quiet 2>/dev/null";
const top = (words: readonly Word[]) => words.filter(({ name }) => !name.includes(" "));
const below = (words: readonly Word[], parent: string) =>
  words.flatMap(({ name }) => (name.startsWith(`${parent} `) ? [name.slice(parent.length + 1)] : []));

export function bash(words: readonly Word[]): string {
  const cases = words.map(({ name, options, takesSandbox }) => {
    const offered = [...below(words, name), ...options].join(" ");
    const names = takesSandbox ? ` $(${NAMES})` : "";
    return `    "${name}") words="${offered}${names}" ;;`;
  });
  const pairs = words.flatMap(({ name }) => (name.includes(" ") ? `"${name}"` : [])).join("|");
  const first = top(words).map(({ name }) => name);
  return `_sandboxer() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words="" word command
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ "$word" == -- ]] && return
  done
  command="\${COMP_WORDS[1]}"
  if [[ $COMP_CWORD -gt 2 ]]; then
    case "\${COMP_WORDS[1]} \${COMP_WORDS[2]}" in
      ${pairs}) command="\${COMP_WORDS[1]} \${COMP_WORDS[2]}" ;;
    esac
  fi
  [[ $COMP_CWORD -eq 1 ]] && command=""
  case "$command" in
    "") words="${first.join(" ")} help" ;;
${cases.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _sandboxer sandboxer
`;
}

export function zsh(words: readonly Word[]): string {
  return `#compdef sandboxer
autoload -U +X bashcompinit && bashcompinit
${bash(words)}`;
}

export function fish(words: readonly Word[]): string {
  const lines = ["complete -c sandboxer -f"];
  for (const { name, description } of top(words)) {
    lines.push(`complete -c sandboxer -n __fish_use_subcommand -a ${name} -d ${quoted(description)}`);
  }
  for (const { name, options, takesSandbox } of words) {
    const [first = "", second] = name.split(" ");
    const when = second
      ? `"__fish_seen_subcommand_from ${first}; and __fish_seen_subcommand_from ${second}"`
      : `"__fish_seen_subcommand_from ${first}"`;
    for (const option of options) lines.push(`complete -c sandboxer -n ${when} -l ${option.slice(2)}`);
    if (takesSandbox) lines.push(`complete -c sandboxer -n ${when} -a "(${NAMES})"`);
    for (const inner of below(words, name)) lines.push(`complete -c sandboxer -n ${when} -a ${inner}`);
  }
  return `${lines.join("\n")}\n`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "\\'")}'`;
}
