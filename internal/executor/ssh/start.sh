dir=${XDG_CACHE_HOME:-${HOME:-/nowhere}/.cache}/fettle;
{ read -r arch </proc/sys/kernel/arch || arch=$(uname -m); } 2>/dev/null;
case $arch in
x86_64) arch=amd64 digest=$1 ;;
aarch64) arch=arm64 digest=$2 ;;
*) digest=- ;;
esac;
uid=$(id -u);
safe() {
	at=$(cd -P "$dir" 2>/dev/null && pwd -P) || return;
	dir=$at at=$at/$1;
	set -- /;
	while [ "$at" ]; do set -- "$@" "$at"; at=${at%/*}; done;
	bad=$(find "$@" -maxdepth 0 \( -user 0 -o -user "$uid" \) \( -type d -perm -1000 -o \( -type d -o -type f \) -not -perm /022 \) -o -print) && [ -z "$bad" ];
};
fit() {
	[ -x "$dir/fettle-$digest" ] && safe "fettle-$digest" && sum=$({ openssl dgst -sha256 -r || sha256sum; } <"$dir/fettle-$digest" 2>/dev/null) && [ "${sum%% *}" = "$digest" ];
};
fit || BOOT;
shift 3;
echo;
exec "$dir/fettle-$digest" "$@" ${SSH_CONNECTION:+--from "${SSH_CONNECTION%% *}"}
