#!/bin/bash
# Installs the Debian packages that the tests need and that are missing here.
# Needs root; does nothing on a machine without apt. Idempotent.
set -euo pipefail

packages=(
	acl apt-utils attr btrfs-progs ca-certificates chromium dbus fonts-dejavu-core e2fsprogs gcc git iproute2 libc6-dev make mmdebstrap
	knot knot-dnsutils nftables openssh-client openssh-server openssl prometheus strace systemd-container util-linux xfsprogs zstd
)

command -v apt-get >/dev/null || {
	echo "setup: no apt-get here; tests on real hosts will be skipped" >&2
	exit 0
}
missing=()
for package in "${packages[@]}"; do
	status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
	[[ $status == installed ]] || missing+=("$package")
done
# Tests start servers of their own: the machine gets the programs, and serves nobody.
mask() {
	echo "setup: masking $*; to start them: systemctl unmask $*"
	mkdir -p /etc/systemd/system
	for unit in "$@"; do
		[[ -e /etc/systemd/system/$unit ]] || ln -s /dev/null "/etc/systemd/system/$unit"
	done
}
[[ " ${missing[*]} " != *" openssh-server "* ]] || mask ssh.service ssh.socket
[[ " ${missing[*]} " != *" prometheus "* ]] || mask prometheus.service
if ((${#missing[@]})); then
	echo "setup: installing ${missing[*]}"
	export DEBIAN_FRONTEND=noninteractive
	apt-get -q update
	apt-get -q -y --no-install-recommends install "${missing[@]}"
fi

# A host holds 7 inotify instances; the kernel's default of 128 is 18 hosts.
limit=/proc/sys/fs/inotify/max_user_instances
if (($(<"$limit") < 8192)); then
	sysctl -q -w fs.inotify.max_user_instances=8192 ||
		echo "setup: cannot raise $limit; many hosts at once may fail to boot" >&2
fi
