#!/bin/sh
# Shows the main job on a throwaway root: a repository with two commits is
# applied, drifts, is repaired, goes on to the next commit, and back to the
# origin. Needs git and bin/fettle; no privileges; touches nothing else.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
PATH=$(cd "$here/../.." && pwd)/bin:$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/machine repo=$work/repo
export NO_COLOR="${NO_COLOR-}"

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n## %s\n' "$*"; }

# run CODE COMMAND: shows the command, runs it, and wants this exit code.
run() {
  want=$1
  shift
  printf '\n$ %s\n' "$*" | sed "s|$work/||g"
  code=0
  "$@" || code=$?
  [ "$code" = "$want" ] || { echo "demo: that ended with $code instead of $want" >&2; exit 1; }
}

fingerprint() {
  (cd "$root" && find . -path ./var/lib/fettle -prune -o -type f -exec sha256sum {} + | sort -k 2 && find . -path ./var/lib/fettle -prune -o -printf '%p %y %m\n' | sort) | sha256sum
}

git_() { git -C "$repo" -c user.name=Demo -c user.email=demo@example.org -c init.defaultBranch=main "$@"; }
commit() {
  cp -r "$here/$1/." "$repo/"
  git_ add --all
  git_ commit --quiet --message "$2"
}

# A small machine: a root with account files and a hosts file.
mkdir -p "$root/etc" "$root/srv" "$root/var/lib"
printf 'root:x:0:0:root:/root:/bin/sh\n' >"$root/etc/passwd"
printf 'root:x:0:\n' >"$root/etc/group"
printf '127.0.0.1 localhost\n' >"$root/etc/hosts"
before=$(fingerprint)

mkdir "$repo"
git_ init --quiet
commit v1 "The first version of the site"
cd "$repo"

say "1. Show the changes. A plan changes nothing."
run 2 fettle plan --root "$root"
say "2. Make the changes."
run 0 fettle apply --root "$root" --yes
run 0 cat "$root/etc/site/example.org.conf"
say "3. Apply again: nothing has to change."
run 0 fettle apply --root "$root" --yes
say "4. A user edits two files by hand: drift."
echo '<h1>Hacked</h1>' >"$root/srv/www/example.org/index.html"
chmod 0666 "$root/etc/site/example.org.conf"
run 2 fettle drift --root "$root"
run 0 fettle apply --root "$root" --yes
say "5. Compare the steps of two commits."
rm -r "$repo/modules"
commit v2 "The second version, with TLS"
run 2 fettle diff HEAD~1 HEAD
run 0 fettle apply --root "$root" --yes
say "6. Explain a file: its source line, commit and run."
run 0 fettle explain --root "$root" /etc/site/example.org.conf
say "7. Show the runs, and roll back to the first version without git."
run 0 fettle log --root "$root"
run 0 fettle rollback --root "$root" 2 --yes
run 0 cat "$root/srv/www/example.org/index.html"
say "8. Roll back to the state before fettle."
run 0 fettle rollback --root "$root" origin --yes
after=$(fingerprint)
if [ "$before" = "$after" ]; then
  echo "The machine is byte for byte as it was."
else
  echo "demo: the machine is not as it was" >&2
  exit 1
fi

say "Next"
cat <<'TEXT'
  bin/fettle init hello           a repository of your own
  bin/fettle docs                 every kind of state and every verb
  docs/tutorial.md                the same, step by step
  make test                       all tests; as root also those on real Debian hosts
TEXT
