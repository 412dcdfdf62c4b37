import { randomBytes, randomUUID } from "node:crypto";
import type { Principal } from "@sandboxer/contract";
import type { Journal } from "./journal.ts";

const MOST_BUILDS = 1_000;

export interface LogEntry {
  readonly timestamp: string;
  readonly level: "info" | "error";
  readonly message: string;
}

/** The making of a template, from the wish for it to the version of a profile that it becomes. */
export interface Build {
  readonly id: string;
  readonly name: string;
  readonly tags: readonly string[];
  readonly principal: Principal;
  readonly resources: { readonly cpus?: number; readonly memoryMiB?: number };
  status: "waiting" | "building" | "ready" | "error";
  readonly log: LogEntry[];
  reason?: { readonly message: string; readonly step?: string };
  /** A sandbox that keeps what was sent for COPY, by hash, until the build is over. */
  holder?: Promise<string>;
  readonly uploaded: Set<string>;
}

/** The builds that this gateway has seen; what they made stays, and the next one knows which it has cut off. */
export interface Builds {
  begin(wish: Pick<Build, "name" | "tags" | "principal" | "resources">): Build;
  find(principal: Principal, name: string, id: string): Build | undefined;
  /** The newest of a name: what an upload is for. */
  waitingFor(principal: Principal, name: string): Build | undefined;
  /** A word that lets one archive in, once, without a key. */
  allowUpload(build: Build, hash: string): string;
  takeUpload(token: string): { readonly build: Build; readonly hash: string } | undefined;
  readonly journal: Journal;
}

export function createBuilds(journal: Journal): Builds {
  const builds = new Map<string, Build>();
  const uploads = new Map<string, { build: Build; hash: string }>();
  const isOf = (principal: Principal, build: Build) => build.principal.id === principal.id;
  return {
    journal,
    begin(wish) {
      const build: Build = { ...wish, id: randomUUID(), status: "waiting", log: [], uploaded: new Set() };
      builds.set(build.id, build);
      journal.begun(build);
      if (builds.size > MOST_BUILDS) builds.delete([...builds.keys()][0] as string);
      return build;
    },
    find(principal, name, id) {
      const build = builds.get(id);
      return build && isOf(principal, build) && build.name === name ? build : undefined;
    },
    waitingFor(principal, name) {
      const mine = [...builds.values()].filter((build) => isOf(principal, build) && build.name === name);
      return mine.findLast(({ status }) => status === "waiting");
    },
    allowUpload(build, hash) {
      const token = randomBytes(32).toString("base64url");
      uploads.set(token, { build, hash });
      if (uploads.size > MOST_BUILDS) uploads.delete([...uploads.keys()][0] as string);
      return token;
    },
    takeUpload(token) {
      const upload = uploads.get(token);
      uploads.delete(token);
      return upload;
    },
  };
}
