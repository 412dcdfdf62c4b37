import { type Box, SandboxerError } from "@sandboxer/contract";
import type { Connection } from "./connection.ts";
import { openFiles } from "./files.ts";
import { openPorts } from "./ports.ts";
import { listProcesses, openProcess } from "./process.ts";
import { openUsers } from "./users.ts";

export const PROTOCOL_VERSION = 0;

interface BoxFacts {
  readonly ref: string;
  readonly hostId: string;
  readonly bestEffort: readonly string[];
}

/** A Box over any byte stream that leads to `boxd serve`. All a self-hosted extension has to add. */
export async function openBox(connection: Connection, facts: BoxFacts): Promise<Box> {
  const hello = await connection.hello;
  if (hello.protocol !== PROTOCOL_VERSION) {
    connection.close();
    throw new SandboxerError("extension_failed", `the sandbox speaks protocol ${hello.protocol}`, {
      hint: "It was started by another version; destroy it and create a new one.",
    });
  }
  const files = openFiles(connection);
  return {
    ...facts,
    files,
    users: openUsers(files, (path) => connection.call("share", { path })),
    ports: openPorts(connection),
    pty: {
      async resize(process, { cols, rows }) {
        await connection.call("resize", { process, cols, rows });
      },
    },
    processes: () => listProcesses(connection),
    closed: connection.closed,
    close: () => connection.close(),
    async exec(request, attachmentId, points) {
      const stream = await connection.open("exec", { ...request, attachment: attachmentId, points });
      return openProcess(connection, stream);
    },
    async attachProcess(id, from = {}) {
      const stream = await connection.open("attach", { process: id, stdout: 0, stderr: 0, ...from });
      return openProcess(connection, stream);
    },
  };
}
