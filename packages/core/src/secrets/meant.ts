import { SandboxerError, type SecretBinding, useOf } from "@sandboxer/contract";
import { parseAwsKey } from "./aws.ts";
import { refuseUnusableKey } from "./ssh-key.ts";

/** Refuses a value that is not what its bindings need it to be. Says nothing of what it is. */
export function checkMeaning(bindings: readonly SecretBinding[], text: string): void {
  const use = useOf(bindings);
  if (use === "aws-sigv4") parseAwsKey(text);
  if (use === "ssh") refuseUnusableKey(text);
  if (use === "word" && text.includes("\n")) {
    throw new SandboxerError("invalid_request", "value: only a key for ssh has several lines");
  }
}
