#!/bin/sh
# Installs one Debian package, quietly and one at a time. Never lets it start a service: what a
# test or a benchmark needs running, it starts itself, privately.
set -eu
exec 9>/run/sandboxer-apt.lock
flock 9

if [ ! -e /usr/sbin/policy-rc.d ]; then
  trap 'rm -f /usr/sbin/policy-rc.d' EXIT
  trap 'exit 1' INT TERM
  printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
  chmod 755 /usr/sbin/policy-rc.d
fi

export DEBIAN_FRONTEND=noninteractive
install() { apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=120 "$1"; }

# Stale lists show as a package that cannot be found or fetched.
install "$1" || { apt-get update && install "$1"; }
