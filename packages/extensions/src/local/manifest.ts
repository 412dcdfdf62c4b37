import { CONTRACT_VERSION, type Manifest } from "@sandboxer/contract";
import { processorsHere } from "../_kit/processors-here.ts";

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
    "stop",
    "metrics",
    "workspaces",
    "snapshots",
    "fork",
    "network",
    "images",
  ],
  workspaces: ["read-only", "read-write", "copy-on-write", "mirror", "remote"],
  volumes: true,
  persistence: ["ephemeral", "persistent", "checkpoint"],
  endsWithThisMachine: true,
  // A network namespace with loopback alone, or with a way that leads to the guard and nowhere else.
  egress: "enforced",
  // The guard puts them in; inside there are placeholders.
  credentials: "edge",
  regions: [],
  limits: { maximumCpus: processorsHere() },
  price: { basis: "provisioned", microUsdPerHour: 0 },
};
