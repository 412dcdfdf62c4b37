import { Buffer } from "node:buffer";
import { type Files, SandboxerError } from "@sandboxer/contract";
import type { Connection } from "./connection.ts";

/** Values go over the wire in hexadecimal. */
export function openXattrs(connection: Connection): Pick<Files, "xattrs" | "setXattr" | "removeXattr"> {
  return {
    async xattrs(path, options = {}) {
      const { xattrs } = await connection.call("xattrs", { path, ...options });
      if (typeof xattrs !== "object" || xattrs === null) {
        throw new SandboxerError("extension_failed", "the sandbox sent broken attributes");
      }
      const entries = Object.entries(xattrs);
      return Object.fromEntries(entries.map(([name, value]) => [name, Buffer.from(String(value), "hex")]));
    },
    async setXattr(path, name, value, options = {}) {
      const { buffer, byteOffset, byteLength } = value;
      const hex = Buffer.from(buffer, byteOffset, byteLength).toString("hex");
      await connection.call("setxattr", { path, name, value: hex, ...options });
    },
    async removeXattr(path, name, options = {}) {
      await connection.call("removexattr", { path, name, ...options });
    },
  };
}
