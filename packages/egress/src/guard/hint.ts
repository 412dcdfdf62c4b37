/** What whoever sees a denial inside can tell whoever looks after the sandbox. */
export const hintFor = (sandbox: string): string =>
  `Outside, \`sandboxer net ${sandbox}\` shows this call and, where there is one, the rule that would allow it.`;
