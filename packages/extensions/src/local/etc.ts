/** The generated /etc of the host image: enough for programs to run, nothing of the host's own. */
export const ETC: Readonly<Record<string, string>> = {
  passwd: [
    "root:x:0:0:root:/root:/bin/sh",
    "user:x:1000:1000:user:/home/user:/bin/bash",
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin",
    "",
  ].join("\n"),
  group: ["root:x:0:", "user:x:1000:", "nogroup:x:65534:", ""].join("\n"),
  hosts: ["127.0.0.1 localhost sandbox", "::1 localhost ip6-localhost", ""].join("\n"),
  hostname: "sandbox\n",
  "nsswitch.conf": ["passwd: files", "group: files", "hosts: files dns", ""].join("\n"),
  "resolv.conf": "",
  // The system's packages are read-only here: what is installed goes into the home, beside them.
  "pip.conf": ["[global]", "break-system-packages = true", ""].join("\n"),
  profile: 'export PATH="${PATH:-/usr/local/bin:/usr/bin:/bin}"\n',
};
