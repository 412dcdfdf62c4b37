import { existsSync } from "node:fs";
import { SandboxerError } from "@sandboxer/contract";

/** The engine API's version of docker 20.10, the oldest still in use; newer daemons speak it too. */
const API = "/v1.41";
const MAXIMUM_ANSWER_BYTES = 64 << 20;
/** A daemon can go on listening and answer nothing any more; what waits for it then would wait for ever. */
const PATIENCE_MS = 60_000;

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export interface DockerApi {
  /** Any status is an answer; only a daemon that cannot be reached, or does not answer in time, throws. */
  call(method: string, path: string, body?: unknown, withinMs?: number): Promise<Answer>;
  /** An answer that comes line by line over a long time; resolves with its status at its end. */
  stream(method: string, path: string, hear: (line: string) => void, signal?: AbortSignal): Promise<number>;
}

/** Docker's official API over its unix socket, as plain HTTP. */
export function openDockerApi(socketPath: string, patienceMs = PATIENCE_MS): DockerApi {
  const missing = (cause?: Error) =>
    new SandboxerError("extension_unavailable", `no docker daemon at ${socketPath}`, {
      hint: "Start docker, or name its socket in DOCKER_HOST.",
      cause,
    });
  return {
    async stream(method, path, hear, signal) {
      const { request } = await import("node:http");
      return new Promise((resolve, reject) => {
        const given = { socketPath, method, path: API + path, ...(signal && { signal }) };
        const broken = (cause: Error) => reject(signal?.aborted ? tooLong(cause) : missing(cause));
        const asking = request(given, (answer) => {
          const lines = cutIntoLines(hear);
          answer.on("data", lines.push).once("error", broken);
          answer.once("end", () => {
            lines.end();
            resolve(answer.statusCode ?? 0);
          });
        });
        asking.on("error", broken).end();
      });
    },

    async call(method, path, body, withinMs = patienceMs) {
      if (!existsSync(socketPath)) throw missing();
      // Loaded by need: it takes a short command longer than all else here.
      const { request } = await import("node:http");
      const payload = body === undefined ? undefined : JSON.stringify(body);
      return new Promise((resolve, reject) => {
        const unreachable = (cause: Error) => reject(SandboxerError.is(cause) ? cause : missing(cause));
        const asking = request({ socketPath, method, path: API + path }, (answer) => {
          const parts: Buffer[] = [];
          let length = 0;
          answer.on("data", (part: Buffer) => {
            length += part.length;
            if (length > MAXIMUM_ANSWER_BYTES) answer.destroy(new Error("docker's answer is too long"));
            parts.push(part);
          });
          answer.once("error", unreachable);
          answer.once("end", () => resolve({ status: answer.statusCode ?? 0, body: parse(parts) }));
        });
        const timer = setTimeout(() => asking.destroy(silent(socketPath)), withinMs);
        asking.on("error", unreachable).once("close", () => clearTimeout(timer));
        if (payload !== undefined) {
          asking.setHeader("content-type", "application/json");
          asking.setHeader("content-length", Buffer.byteLength(payload));
        }
        asking.end(payload);
      });
    },
  };
}

function tooLong(cause: Error): SandboxerError {
  return new SandboxerError("deadline_exceeded", "docker did not finish in time", { cause });
}

function silent(socketPath: string): SandboxerError {
  return new SandboxerError("extension_unavailable", `the docker daemon at ${socketPath} does not answer`, {
    hint: "It listens, and is stuck: look at its log, or start it anew.",
  });
}

/** Of what comes cut anywhere. */
function cutIntoLines(hear: (line: string) => void) {
  const decoder = new TextDecoder();
  let begun = "";
  return {
    push(part: Buffer): void {
      const [first = "", ...more] = decoder.decode(part, { stream: true }).split("\n");
      begun += first;
      for (const next of more) {
        hear(begun);
        begun = next;
      }
    },
    end(): void {
      if (begun !== "") hear(begun);
    },
  };
}

function parse(parts: Buffer[]): unknown {
  const text = Buffer.concat(parts).toString("utf8");
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
