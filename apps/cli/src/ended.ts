import type { Client, Sandbox } from "@sandboxer/sdk";

/** The one that lives, or else the newest of that name that is over: what is known of it outlives it. */
export async function alsoEnded({ sandboxes }: Client, idOrName: string): Promise<Sandbox> {
  try {
    return await sandboxes.get(idOrName);
  } catch (error) {
    const { nameSchema, SandboxerError } = await import("@sandboxer/contract");
    const mayBeOver = SandboxerError.is(error) && error.code === "not_found";
    if (!mayBeOver || !nameSchema.safeParse(idOrName).success) throw error;
    const [newest] = (await sandboxes.list({ name: idOrName, limit: 1 })).sandboxes;
    if (!newest) throw error;
    return newest;
  }
}
