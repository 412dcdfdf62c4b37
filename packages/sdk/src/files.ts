import {
  type FileContent,
  type Files,
  fileEntrySchema,
  listingSchema,
  madeSchema,
  unpackedSchema,
  type WriteOptions,
  writtenSchema,
  xattrsAnswerSchema,
} from "@sandboxer/contract";
import { decodeBase64 } from "./base64.ts";
import { chunksOf } from "./chunks.ts";
import { strange } from "./failure.ts";
import { drained } from "./process.ts";
import type { Transport } from "./transport.ts";
import { type Content, uploadOf } from "./upload.ts";
import { openWatch } from "./watch.ts";

/** The contract's Files, which also takes what is whole already. */
export interface SandboxFiles extends Files {
  write(path: string, source: Content, options?: WriteOptions): Promise<number>;
}

/** Over HTTP. */
export function openFiles(transport: Transport, sandboxPath: string): SandboxFiles {
  const at = (verb: string) => `${sandboxPath}/files/${verb}`;
  return {
    async read(path, options = {}) {
      return contentOf(await transport.send("GET", at("content"), { query: { path, ...options } }));
    },
    async write(path, source, { mode, ...options } = {}) {
      const query = { path, ...options, mode: mode?.toString(8).padStart(4, "0") };
      const answer = await transport.ask(writtenSchema, "PUT", at("content"), {
        query,
        body: await uploadOf(source),
      });
      return answer.bytes;
    },
    stat: (path, options = {}) =>
      transport.ask(fileEntrySchema, "GET", at("stat"), { query: { path, ...options } }),
    async list(path, options = {}) {
      return (await transport.ask(listingSchema, "GET", at("list"), { query: { path, ...options } })).entries;
    },
    async mkdir(path, options = {}) {
      return (await transport.ask(madeSchema, "POST", at("mkdir"), { json: { path, ...options } })).created;
    },
    async move(from, to, options = {}) {
      await drained(transport.send("POST", at("move"), { json: { from, to, ...options } }));
    },
    async remove(path, options = {}) {
      await drained(transport.send("DELETE", `${sandboxPath}/files`, { query: { path, ...options } }));
    },
    async chmod(path, mode, options = {}) {
      await drained(transport.send("POST", at("chmod"), { json: { path, mode, ...options } }));
    },
    async symlink(path, target, options = {}) {
      await drained(transport.send("POST", at("symlink"), { json: { path, target, ...options } }));
    },
    async xattrs(path, options = {}) {
      const query = { path, ...options };
      const { xattrs } = await transport.ask(xattrsAnswerSchema, "GET", at("xattrs"), { query });
      return Object.fromEntries(Object.entries(xattrs).map(([name, text]) => [name, decodeBase64(text)]));
    },
    async setXattr(path, name, value, options = {}) {
      const query = { path, name, ...options };
      await drained(transport.send("PUT", at("xattrs"), { query, body: value }));
    },
    async removeXattr(path, name, options = {}) {
      await drained(transport.send("DELETE", at("xattrs"), { query: { path, name, ...options } }));
    },
    async watch(path, options = {}) {
      return openWatch(await transport.send("GET", at("watch"), { query: { path, ...options } }));
    },
    async pack(path, options = {}) {
      return chunksOf(await transport.send("GET", at("archive"), { query: { path, ...options } })).data;
    },
    async unpack(path, source, options = {}) {
      const call = { query: { path, ...options }, body: await uploadOf(source) };
      return transport.ask(unpackedSchema, "PUT", at("archive"), call);
    },
  };
}

/** The file's facts travel as headers, so that its bytes can travel as they are. */
function contentOf(response: Response): FileContent {
  const fact = (name: string) => {
    const value = Number(response.headers.get(`x-sandboxer-${name}`) ?? Number.NaN);
    if (Number.isNaN(value)) throw strange(`the file came without its ${name}`);
    return value;
  };
  return {
    size: fact("size"),
    mode: fact("mode"),
    mtimeMs: fact("mtime-ms"),
    data: chunksOf(response).data,
  };
}
