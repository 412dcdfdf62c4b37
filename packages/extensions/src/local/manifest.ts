import { CONTRACT_VERSION, type Manifest } from "@sandboxer/contract";

export const manifest: Manifest = {
  schema: 1,
  contract: CONTRACT_VERSION,
  id: "local",
  title: "this machine, by boxd",
  hosting: "self",
  // No layer of it is optional: a host that lacks one is refused. See docs/decisions/0013.
  isolation: { class: "container", technology: "linux namespaces and seccomp" },
  images: ["host", "rootfs", "oci"],
  facets: [
    "pty",
    "ports",
    "users",
    "pause",
    "metrics",
    "workspaces",
    "snapshots",
    "fork",
    "network",
    "images",
  ],
  workspaces: ["read-only", "read-write", "copy-on-write"],
  persistence: ["ephemeral"],
  // A network namespace with loopback alone, or with a way that leads to the guard and nowhere else.
  egress: "enforced",
  credentials: "none",
  regions: [],
  limits: {},
  price: { basis: "provisioned", microUsdPerHour: 0 },
};
