/**
 * The user's own shell, as the sandbox has it. Its prompt says where one is, unless a file inside has
 * set another; what is started from it inherits nothing of that.
 */
export const shellIn = (name = "sandbox"): readonly [string, string, string] => [
  "/bin/sh",
  "-c",
  `case "$SHELL" in
*/bash) exec "$SHELL" --rcfile /dev/fd/3 -i 3<<'END'
exec 3<&-
PS1='\\u@${name}:\\w\\$ '
for file in /etc/bash.bashrc ~/.bashrc; do [ -r "$file" ] && . "$file"; done
unset file
END
esac
exec "\${SHELL:-/bin/sh}" -i`,
];

/** Nobody typed that script: whoever sees the process reads what they did type. */
export function isShellIn(argv: readonly string[], name: string | undefined): boolean {
  const script = shellIn(name);
  return argv.length === script.length && script.every((word, at) => argv[at] === word);
}
