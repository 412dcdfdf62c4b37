import { z } from "zod";

export const portSchema = z.int().min(1).max(65_535);

/** Bytes both ways, as over a TCP connection. */
export interface ByteStream {
  /** What comes out. One reader; ends when the other side has said all it will. */
  readonly data: AsyncIterable<Uint8Array>;
  /** Resolves when the sandbox has room for more. */
  write(data: Uint8Array): Promise<void>;
  /** Nothing more goes in; what comes out can still be read. */
  end(): Promise<void>;
  /** Lets go of both directions at once. */
  close(): void;
}

/** The facet `ports`. */
export interface Ports {
  /** To whatever listens on this TCP port inside; `port_closed` where nothing does. */
  dial(port: number): Promise<ByteStream>;
}
