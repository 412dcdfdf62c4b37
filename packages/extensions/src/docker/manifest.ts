import { CONTRACT_VERSION, type Manifest } from "@sandboxer/contract";
import { processorsHere } from "../_kit/processors-here.ts";
import { RUNTIMES, type Runtime } from "./runtime.ts";

export function manifestOf(runtime: Runtime): Manifest {
  return {
    schema: 1,
    contract: CONTRACT_VERSION,
    ...RUNTIMES[runtime],
    hosting: "self",
    images: ["oci"],
    volumes: runtime === "runc",
    // Copies alone: a container is shown no folder of its host.
    ...(runtime === "runc" && { workspaces: ["mirror", "remote"] }),
    persistence: ["ephemeral"],
    // Containers are started with `NetworkMode: none`; what boxd lays inside leads to the guard alone.
    egress: "enforced",
    // The guard puts them in; inside there are placeholders.
    credentials: "edge",
    regions: [],
    // Its socket is a file of this machine.
    limits: { maximumCpus: processorsHere() },
    price: { basis: "provisioned", microUsdPerHour: 0 },
  };
}
