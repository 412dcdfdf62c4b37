import { type ChildProcess, spawn } from "node:child_process";
import { readLines, sayTogether } from "../lines.ts";

/** What the relay tells. Its words are boxd's own; names and ports in them are a sandbox's. */
export type RelayEvent =
  | { readonly event: "ready" }
  | { readonly event: "watching"; readonly sandbox: string }
  | { readonly event: "lost"; readonly sandbox: string; readonly reason: string }
  | { readonly event: "stray"; readonly sandbox: string; readonly address: string; readonly port: number }
  /** Words to a proxy that are none of its language; nobody knows where they were to lead. */
  | {
      readonly event: "unclear";
      readonly sandbox: string;
      readonly via: "http-proxy" | "socks";
      readonly port: number;
      readonly reason: string;
    }
  | {
      readonly event: "open";
      readonly tunnel: number;
      readonly sandbox: string;
      /** Empty where requests go to the proxy itself. */
      readonly host: string;
      readonly port: number;
      readonly via: "name" | "http-proxy" | "socks" | "ssh-agent";
      /** Whose it is, as the sandbox counts users; `NOBODY_KNOWS` where it was closed too soon to tell. */
      readonly uid: number;
      /** Which program made it, where that can be seen. */
      readonly program?: string | null;
    }
  | { readonly event: "spent"; readonly purse: string; readonly up: number; readonly down: number }
  | {
      readonly event: "over";
      readonly tunnel: number;
      readonly reason: string;
      readonly up: number;
      readonly down: number;
    };

export type RelayOrder =
  | { readonly op: "watch"; readonly sandbox: string; readonly socket: string; readonly agent: boolean }
  | { readonly op: "leave"; readonly sandbox: string }
  | { readonly op: "refuse"; readonly tunnel: number; readonly reason: string }
  | { readonly op: "inspect" | "hold"; readonly tunnel: number }
  | { readonly op: "close"; readonly tunnel: number }
  | {
      readonly op: "fill";
      readonly purse: string;
      /** Absent where there is no limit. */
      readonly up?: number;
      readonly down?: number;
      readonly usedUp: number;
      readonly usedDown: number;
    }
  | { readonly op: "charge"; readonly tunnel: number; readonly purses: readonly string[] }
  | {
      readonly op: "dial";
      readonly tunnel: number;
      readonly addresses: readonly string[];
      readonly port: number;
      readonly tls: boolean;
      /** What the TLS greeting must name; absent where the host is an address. */
      readonly name?: string;
    };

export interface Relay {
  order(order: RelayOrder): void;
}

/** The native half. Without it there is no guard, so its end is ours. */
export function startRelay(
  boxdPath: string,
  inspectorPath: string,
  hear: (event: RelayEvent) => void,
): Relay {
  const child: ChildProcess = spawn(boxdPath, ["relay", "--inspector", inspectorPath], {
    stdio: ["pipe", "pipe", "inherit"],
    env: {},
  });
  const { stdin, stdout } = child;
  if (!stdin || !stdout) throw new Error("the relay has no streams");
  stdin.on("error", () => {});
  child.once("error", () => process.exit(1));
  child.once("exit", () => process.exit(1));
  readLines(stdout, (message) => hear(message as unknown as RelayEvent));
  return { order: sayTogether(stdin, process.nextTick).say };
}
