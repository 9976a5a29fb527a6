# What start.sh goes on with where no verified program is in the cache: it leaves $dir, which
# has the program then, or gives up. safe and fit are those of start.sh.

# What a login script printed may lack its line break.
say() { printf '\nfettle-boot %s\n' "$1"; }
give_up() { say "$1"; exit 3; }
# First gives where the program may be to a command, best place first, until it succeeds.
first() {
	for dir in "$cache" /var/cache/fettle "/var/tmp/fettle-$uid" "/run/user/$uid/fettle"; do
		"$@" && return
	done
	return 1
}
# Besides the cache a directory counts only if nobody else can have put something into it.
own() { [ "$dir" = "$cache" ] || [ -n "$(find "$dir" -prune -type d -user "$uid" -perm 700 2>/dev/null)" ]; }
forget() {
	own || return
	rm -f "$dir"/fettle-* || exit 3
	rmdir "$dir" 2>/dev/null
	return 1 # there may be more
}
there() { own && fit; }
make() {
	if [ "$dir" = "$cache" ]; then mkdir -p "$dir"; else mkdir "$dir"; fi 2>/dev/null
	own
}
begin() {
	part=$dir/fettle-$digest.$$
	rm -f "$part" && (set -C; : >"$part") && chmod 700 "$part"
}
room() {
	bad=
	if ! { make && safe "" && begin; } 2>/dev/null; then
		# shellcheck disable=SC2086 # one line of several
		tried="$tried$dir ${bad:+is not safe from other users: see the owner and the mode of }$(echo ${bad:-cannot be written to}); "
		return 1
	fi
	[ -x "$part" ] && return
	rm -f "$part"
	tried="$tried$dir is mounted noexec; "
	return 1
}
cache=$dir
if [ "$3" = forget ]; then
	first forget
	say forgotten
	exit
fi
[ "$digest" != - ] || give_up "unfit $(uname -sm)"
if ! first there; then
	mask=$(umask)
	umask 077
	trap 'rm -f "$part"' EXIT
	trap 'rm -f "$part"; exit 3' HUP INT PIPE TERM
	first room || give_up "nowhere ${tried%; }"
	# What a connection left that broke off, unless it may still be coming.
	find "$dir" -name 'fettle-*.*' -mmin +60 -exec rm -f {} + 2>/dev/null
	say "lack $arch"
	IFS= read -r size
	head -c "$size" | gzip -dc >"$part" && sync "$part" || give_up "full $dir"
	sum=$(sha256sum "$part")
	[ "${sum%% *}" = "$digest" ] || give_up "damaged $dir"
	mv -fT "$part" "$dir/fettle-$digest" || give_up "full $dir"
	trap - EXIT HUP INT PIPE TERM
	find "$dir" -name 'fettle-*' -mtime +30 -exec rm -f {} +
	umask "$mask" # what the program starts gets the account's own
fi
