import {
  type GuardedKey,
  SandboxerError,
  type SecretBinding,
  SSH_AGENT_PATH,
  useOf,
} from "@sandboxer/contract";

const MAGIC = Buffer.from("openssh-key-v1\0", "latin1");
/** No cipher: the length of the word, and the word. */
const PLAIN = Buffer.from("\0\0\0\x04none", "latin1");

export const AGENT_VARIABLES: Readonly<Record<string, string>> = { SSH_AUTH_SOCK: SSH_AGENT_PATH };

export const isForLogins = ({ bindings }: { readonly bindings: readonly SecretBinding[] }): boolean =>
  useOf(bindings) === "ssh";

/** Nobody is there to type a passphrase when something has to be signed. */
export function refuseUnusableKey(pem: string): void {
  const bytes = Buffer.from(pem.replaceAll(/-----[A-Z ]+-----|\s/g, ""), "base64");
  const isKey = pem.startsWith("-----BEGIN OPENSSH") && bytes.subarray(0, MAGIC.length).equals(MAGIC);
  if (isKey && bytes.subarray(MAGIC.length, MAGIC.length + PLAIN.length).equals(PLAIN)) return;
  throw new SandboxerError(
    "invalid_request",
    isKey ? "value: the key has a passphrase" : "value: this is no private key of OpenSSH's",
    {
      hint: "Make one with `ssh-keygen -t ed25519 -N ''`.",
    },
  );
}

export function guardedKey(name: string, privateKey: string, bindings: readonly SecretBinding[]): GuardedKey {
  return {
    name,
    privateKey,
    bindings: bindings.flatMap(({ host, place }) => {
      if (place.in !== "ssh") return [];
      const { sign, hostKeys } = place;
      return [{ host, sign, ...(hostKeys && { hostKeys }) }];
    }),
  };
}
