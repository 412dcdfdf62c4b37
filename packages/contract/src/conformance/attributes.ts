import { bytes, equal, ok, readAll, refuses, shell, text } from "./assert.ts";
import type { Case } from "./subject.ts";

export const attributeCases: Case[] = [
  {
    name: "changes permission bits, through links too",
    async run({ sandbox }) {
      const { files } = sandbox;
      await files.write("script", [bytes("#!/bin/sh\necho ran\n")]);
      await files.symlink("to-script", "script");
      await files.chmod("to-script", 0o755);
      equal((await files.stat("script")).mode, 0o755, "mode");
      equal(await shell(sandbox, "./script"), "ran\n", "as a program");
      await refuses("permission_denied", () => files.chmod("/usr", 0o777));
      await refuses("path_not_found", () => files.chmod("nowhere", 0o600));
      await refuses("invalid_request", () => files.chmod("script", 0o10000));
    },
  },
  {
    name: "makes links and tells where they point",
    async run({ sandbox }) {
      const { files } = sandbox;
      await files.write("pointed-at", [bytes("here")]);
      await files.symlink("pointer", "pointed-at");
      const link = await files.stat("pointer", { follow: false });
      equal([link.type, link.target], ["symlink", "pointed-at"], "the link");
      equal((await files.stat("pointer")).type, "file", "what it leads to");
      equal(text(await readAll((await files.read("pointer")).data)), "here", "content");
      await files.symlink("dangling", "/no where/at all");
      equal((await files.stat("dangling", { follow: false })).target, "/no where/at all", "dangling");
      await refuses("path_exists", () => files.symlink("pointer", "other"));
    },
  },
  {
    name: "sets, lists and removes extended attributes, of users only",
    async run({ sandbox }) {
      const { files } = sandbox;
      await files.write("tagged", []);
      const value = Uint8Array.from([0, 255, 10, 65]);
      await files.setXattr("tagged", "user.mark", value);
      await files.setXattr("tagged", "user.empty", new Uint8Array());
      const found = await files.xattrs("tagged");
      equal(Object.keys(found).sort(), ["user.empty", "user.mark"], "names");
      equal([...(found["user.mark"] ?? [])], [...value], "value");
      await files.removeXattr("tagged", "user.mark");
      equal(Object.keys(await files.xattrs("tagged")), ["user.empty"], "after removal");
      await refuses("not_found", () => files.removeXattr("tagged", "user.mark"));
      for (const name of ["security.capability", "trusted.x", "user.", "user", "system.posix_acl_access"]) {
        await refuses("invalid_request", () => files.setXattr("tagged", name, value));
      }
      ok(!("security.capability" in (await files.xattrs("tagged"))), "others are not shown");
    },
  },
];
