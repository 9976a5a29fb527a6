dir=${XDG_CACHE_HOME:-${HOME:-/nowhere}/.cache}/fettle;
{ read -r arch </proc/sys/kernel/arch || arch=$(uname -m); } 2>/dev/null;
case $arch in
x86_64) arch=amd64 digest=$1 ;;
aarch64) arch=arm64 digest=$2 ;;
*) digest=- ;;
esac;
[ -x "$dir/fettle-$digest" ] || eval "$(echo BOOT | base64 -d)";
from=${SSH_CONNECTION%% *};
mode=$3;
shift 3;
echo;
[ "$mode" = sudo ] && exec sudo -S -p fettle-sudo-password: -u root -- "$dir/fettle-$digest" "$@" --from "$from";
exec "$dir/fettle-$digest" "$@" --from "$from"
