# What a login script printed may lack its line break.
say() { printf '\nfettle-boot %s\n' "$1"; }
give_up() { say "$1"; exit 3; }
dir=${XDG_CACHE_HOME:-${HOME:-/nowhere}/.cache}/fettle
if [ "$3" = forget ]; then
	rm -f "$dir"/fettle-* && { rmdir "$dir" 2>/dev/null; say forgotten; }
	exit
fi
machine=$(uname -sm)
case $machine in
'Linux x86_64') arch=amd64 digest=$1 ;;
'Linux aarch64') arch=arm64 digest=$2 ;;
*) digest=- ;;
esac
[ "$digest" != - ] || give_up "unfit $machine"
program=$dir/fettle-$digest
if ! [ -x "$program" ]; then
	mask=$(umask)
	umask 077
	part=$program.$$
	trap 'rm -f "$part"' EXIT
	trap 'rm -f "$part"; exit 3' HUP INT PIPE TERM
	{ mkdir -p "$dir" && : >"$part"; } 2>/dev/null || give_up "unwritable $dir"
	# What a connection left that broke off, unless it may still be coming.
	find "$dir" -name 'fettle-*.*' -mmin +60 -exec rm -f {} + 2>/dev/null
	chmod 700 "$part"
	[ -x "$part" ] || give_up "noexec $dir"
	say "lack $arch"
	IFS= read -r size
	head -c "$size" | gzip -dc >"$part" && sync "$part" || give_up "full $dir"
	sum=$(sha256sum "$part")
	[ "${sum%% *}" = "$digest" ] || give_up "damaged $dir"
	mv -f "$part" "$program" || give_up "unwritable $dir"
	trap - EXIT HUP INT PIPE TERM
	find "$dir" -name 'fettle-*' -mtime +30 -exec rm -f {} +
	umask "$mask" # what the program starts gets the account's own
fi
from=${SSH_CONNECTION%% *}
mode=$3 user=$4
shift 4
echo
if [ "$mode" = sudo ]; then
	exec sudo -S -p 'fettle-sudo-password:' -u "$user" -- "$program" "$@" --from "$from"
fi
exec "$program" "$@" --from "$from"
