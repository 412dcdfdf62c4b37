import { CONTRACT_VERSION, type Manifest } from "@sandboxer/contract";

export const manifest: Manifest = {
  schema: 1,
  contract: CONTRACT_VERSION,
  id: "docker",
  title: "a docker daemon, with boxd inside",
  hosting: "self",
  isolation: { class: "container", technology: "runc" },
  images: ["oci"],
  // No `pause`: a frozen container cannot end itself on time, and docker has no clock of its own.
  facets: ["pty", "ports", "users", "metrics", "network"],
  persistence: ["ephemeral"],
  // Containers are started with `NetworkMode: none`; what boxd lays inside leads to the guard alone.
  egress: "enforced",
  // The guard puts them in; inside there are placeholders.
  credentials: "edge",
  regions: [],
  limits: {},
  price: { basis: "provisioned", microUsdPerHour: 0 },
};
