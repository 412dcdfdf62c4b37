import { type NetworkRule, SandboxerError } from "@sandboxer/contract";

export const PACKAGE_SETS = ["npm", "pypi", "debian", "crates", "go"] as const;

/** Hosts that packages come from, by set. */
export type PackageHosts = Readonly<Partial<Record<string, readonly string[]>>>;

let hosts: PackageHosts = {};

/**
 * Where packages come from is the operator's to say, once for the process: many have a mirror of
 * their own, and a default would open a way out that nobody asked for.
 */
export function usePackageHosts(said: PackageHosts): void {
  hosts = said;
}

/** Reading only. Debian's packages are signed, and mirrors of them often speak plain HTTP. */
export function packageRules(set: string): (Partial<NetworkRule> & { readonly host: string })[] {
  const named = hosts[set];
  if (!named) {
    throw new SandboxerError(
      "invalid_request",
      `network.sets: nobody has said where ${set} packages come from`,
      {
        hint: `Name the hosts in config.yaml in the gateway's home (~/.sandboxer), as in packageHosts: {"${set}": ["packages.example.com"]}.`,
      },
    );
  }
  return named.flatMap((host) => [
    { host, access: "read-only" as const },
    ...(set === "debian" ? [{ host, protocol: "http" as const, access: "read-only" as const }] : []),
  ]);
}
