import { CONTRACT_VERSION, type Manifest } from "@sandboxer/contract";

export const manifest: Manifest = {
  schema: 1,
  contract: CONTRACT_VERSION,
  id: "local",
  title: "this machine, by boxd",
  hosting: "self",
  // Namespaces without a system-call filter are a `process` boundary; the engine earns `container`
  // when seccomp, cgroups and the posture test are in.
  isolation: { class: "process", technology: "linux namespaces" },
  images: ["host", "rootfs"],
  facets: ["pty", "ports", "users", "pause", "metrics", "workspaces", "snapshots", "fork"],
  workspaces: ["read-only", "read-write", "copy-on-write"],
  persistence: ["ephemeral"],
  // The network namespace has nothing but loopback, so "deny" is the kernel's to keep.
  egress: "enforced",
  credentials: "none",
  regions: [],
  limits: {},
  price: { basis: "provisioned", microUsdPerHour: 0 },
};
