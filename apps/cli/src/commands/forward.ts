import { createServer, type Socket } from "node:net";
import type { ByteStream } from "@sandboxer/contract";
import type { Sandbox } from "@sandboxer/sdk";
import { type Command, InvalidArgumentError } from "commander";
import { portNumber } from "../arguments.ts";
import { printable } from "../printable.ts";

interface Ports {
  readonly local: number;
  readonly inside: number;
}

export function register(program: Command): void {
  program
    .command("forward")
    .description("reach a port inside a sandbox through one of this machine's")
    .argument("<sandbox>", "its id or name")
    .argument("<ports>", "local:inside, or one number for both; local 0 takes any that is free", portsOf)
    .option("--json", "print {port} once ready, and nothing else")
    .addHelpText("after", "\nExample:\n  $ sandboxer forward build 8080:80")
    .action(forward);
}

function portsOf(text: string): Ports {
  const [local = "", inside = local, ...rest] = text.split(":");
  const ports = { local: portNumber(local), inside: portNumber(inside) };
  if (rest.length > 0 || ports.inside === 0) throw new InvalidArgumentError("Give ports as 8080:80.");
  return ports;
}

async function forward(idOrName: string, { local, inside }: Ports, { json }: { json?: true }): Promise<void> {
  const { SandboxerError } = await import("@sandboxer/contract");
  const { findingAgain, withClient } = await import("../connect.ts");
  const { watchOver, whyUnreachable } = await import("../watch-over.ts");
  const { report } = await import("../report.ts");
  await withClient(async (client) => {
    let sandbox = await client.sandboxes.get(idOrName);
    const refusal = whyUnreachable(sandbox.info);
    if (refusal) throw refusal;
    // Each side may end while the other still speaks.
    const server = createServer({ allowHalfOpen: true }, (socket) => void join(sandbox, inside, socket));
    await new Promise<void>((resolve, reject) => {
      server.once("error", (cause: NodeJS.ErrnoException) =>
        reject(new SandboxerError("conflict", `cannot listen on port ${local}: ${cause.code}`, { cause })),
      );
      server.listen(local, "127.0.0.1", resolve);
    });
    const { port } = server.address() as { port: number };
    const ready = `127.0.0.1:${port} leads to port ${inside} of ${sandbox.id}. Ctrl-C ends it.`;
    process.stdout.write(`${json ? JSON.stringify({ port }) : ready}\n`);
    const told = new Promise<void>((resolve) => {
      for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => resolve());
    });
    const again = findingAgain(client);
    const look = async () => {
      sandbox = await again((found) => found.sandboxes.get(sandbox.id));
      return sandbox;
    };
    const over = watchOver(look, {
      lost: (error) => void report(error, json === true),
      back: () => void (json || process.stderr.write(`127.0.0.1:${port} leads there again.\n`)),
    });
    await Promise.race([told, over]);
  });
  process.exit(0);
}

async function join(sandbox: Sandbox, port: number, socket: Socket): Promise<void> {
  socket.on("error", () => socket.destroy());
  let stream: ByteStream | undefined;
  try {
    stream = await sandbox.ports.dial(port);
    await Promise.all([passIn(socket, stream), passOut(stream, socket)]);
  } catch (error) {
    socket.destroy();
    if (!stream) process.stderr.write(`port ${port}: ${printable(String((error as Error).message))}\n`);
  } finally {
    stream?.close();
  }
}

async function passIn(socket: Socket, stream: ByteStream): Promise<void> {
  for await (const chunk of socket) await stream.write(chunk as Uint8Array);
  await stream.end();
}

async function passOut(stream: ByteStream, socket: Socket): Promise<void> {
  for await (const chunk of stream.data) {
    if (!socket.write(chunk))
      await new Promise((resolve) => socket.once("drain", resolve).once("close", resolve));
    if (socket.destroyed) return;
  }
  socket.end();
}
