#!/bin/sh
# Shows a fleet on this machine: a hub and three agents, each on a throwaway root. A
# push reaches them, drift is repaired, and they continue while the hub is stopped. On
# a terminal it then waits for Enter. It needs git and bin/fettle, but no privileges,
# and listens on 127.0.0.1 only.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
PATH=$(cd "$here/../.." && pwd)/bin:$PATH
work=$(mktemp -d)
export HOME="$work/home" NO_COLOR="${NO_COLOR-}"
unset XDG_CONFIG_HOME XDG_STATE_HOME
pids= hub=

stop() {
  # Agents first: they end cleanly, and nobody sees them try to find a hub.
  for p in $pids $hub; do kill "$p" 2>/dev/null || :; done
  wait 2>/dev/null || :
  rm -rf "$work"
}
trap stop EXIT
trap 'exit 1' INT TERM

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n## %s\n' "$*"; }

run() {
  printf '\n$ %s\n' "$*" | sed "s|$work/||g"
  "$@"
}

# until WHAT COMMAND: waits until a command succeeds, half a minute at most.
until_() {
  what=$1 tries=0
  shift
  until "$@" >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ $tries -lt 300 ] || { echo "demo: never: $what" >&2; cat "$work"/*.log >&2; exit 1; }
    sleep 0.1
  done
}

repo=$work/site
git_() { git -C "$repo" -c user.name=Demo -c user.email=demo@example.org -c init.defaultBranch=main "$@"; }
# greeting TEXT: commits a module that makes a file of it.
greeting() {
  printf 'directory "/srv/www" {}\nfile "/srv/www/index.html" {\n  content = "<h1>%s from ${target.name}</h1>\\n"\n}\n' "$1" >"$repo/modules/web/module.hcl"
  git_ add --all
  git_ commit --quiet --message "$1"
}
everywhere() { for n in 1 2 3; do grep -q "$1 from web$n" "$work/web$n/srv/www/index.html" || return 1; done; }
hub_up() { fettle hub run --dir "$work/hub" --socket "$work/hub.sock" >>"$work/hub.log" 2>&1 & hub=$!; until_ "the hub serves" fettle status --fleet; }

mkdir -p "$HOME" "$repo/modules/web"
git_ init --quiet
printf 'target_group "web" {\n  labels  = { role = "web" }\n  modules = ["web"]\n}\npolicy { rollout = "at-once" }\n' >"$repo/fettle.hcl"
greeting "Hello"

say "1. Start a hub. It follows a git repository."
# Two ports that nobody has, most likely.
port=$((20000 + $$ % 20000))
run fettle hub init --fleet demo --name hub1 --dir "$work/hub" --address 127.0.0.1 --api "127.0.0.1:$port" --bus "127.0.0.1:$((port + 1))" --repository "file://$repo" --poll 5s
fettle hub run --dir "$work/hub" --socket "$work/hub.sock" >"$work/hub.log" 2>&1 &
hub=$!
until_ "the hub serves" fettle login "unix://$work/hub.sock" </dev/null
until_ "the hub serves" fettle status --fleet

say "2. Three hosts enrol with a token. The token gives them their labels."
fettle token create --label role=web --uses 3 --json | sed -n 's/^ *"secret": "\(.*\)".*/\1/p' >"$work/token"
for n in 1 2 3; do
  mkdir -p "$work/web$n/etc" "$work/web$n/srv" "$work/web$n/var/lib" "$work/web$n/tmp"
  printf 'root:x:0:0:root:/root:/bin/sh\n' >"$work/web$n/etc/passwd"
  printf 'root:x:0:\n' >"$work/web$n/etc/group"
  run fettle agent enrol --root "$work/web$n" --hub "https://127.0.0.1:$port" --token-file "$work/token" --name "web$n"
  fettle agent run --root "$work/web$n" >"$work/web$n.log" 2>&1 &
  pids="$pids $!"
done
until_ "all three are as assigned" everywhere Hello
run cat "$work/web2/srv/www/index.html"
run fettle target list

say "3. Push a commit: the agents apply it."
greeting "Good morning"
until_ "the push is everywhere" everywhere "Good morning"
run cat "$work/web3/srv/www/index.html"

say "4. A user edits a file by hand: the agent repairs it."
echo "<h1>Hacked</h1>" >"$work/web1/srv/www/index.html"
until_ "the drift is gone" everywhere "Good morning"
until_ "the hub has heard of it" sh -c 'fettle events | grep -q "web1 .*repaired"'

say "5. The hub stops. Agents continue to repair drift, and report it later."
kill "$hub"
wait "$hub" || :
echo "<h1>Hacked again</h1>" >"$work/web2/srv/www/index.html"
until_ "the drift is gone" everywhere "Good morning"
hub_up
until_ "the hub has heard of it" sh -c 'fettle events | grep -q "web2 .*repaired"'
until_ "all are back" sh -c 'fettle status --fleet | grep -q "3 of 3"'
run fettle events

say "6. Try a branch on one host first."
git_ checkout --quiet -b evening
greeting "Good evening"
git_ checkout --quiet main
run fettle target pin web3 --branch evening --expires 2d
until_ "web3 is on the branch" grep -q "Good evening from web3" "$work/web3/srv/www/index.html"
until_ "the hub has heard of it" sh -c 'fettle explain web3 web | grep -q "^web on web3: ready"'
run fettle explain web3 web
run fettle target list
run fettle status --fleet

say "7. In waves, a change reaches one host first. A bad one stops there, and this host returns."
fettle target unpin web3 >/dev/null
sed -i 's/"at-once"/"demo"/' "$repo/fettle.hcl"
cat >>"$repo/fettle.hcl" <<'HCL'

rollout "demo" {
  wave "first" { size = 1 }
  wave "rest" { max_unavailable = "50%" }
  min_ready_time = "1s"
}
HCL
greeting "Good night"
until_ "the first rollout ends" sh -c 'fettle rollout list | grep -q "^r1 .*completed"'
run fettle rollout list
printf '\nfile "/srv/missing/page.html" { content = "" }\n' >>"$repo/modules/web/module.hcl"
git_ commit --quiet --all --message "Add a page in a directory that does not exist"
until_ "the second rollout ends" sh -c 'fettle rollout list | grep -q "^r2 .*rolled-back"'
run fettle rollout show r2
until_ "all hosts are as before" sh -c 'fettle status --fleet | grep -q "^states *3 ready"'
run fettle target list
run fettle explain web1 web

[ -t 0 ] && [ -t 1 ] || exit 0
say "Still running. In another terminal:"
cat <<TEXT
  export HOME=$HOME PATH=$(dirname "$(command -v fettle)"):\$PATH
  fettle target list --watch         show the state of all targets
  fettle events --watch              show events as they occur
  fettle target show web1            show one target; see also: fettle explain web1 web
  fettle rollout list                show how changes reached the targets
  fettle drift -t '*'                look for drift on the hosts, through the hub
  fettle audit list                  show who changed what through the hub
  cd $repo                           change modules/web/module.hcl and commit
  echo oops >$work/web1/srv/www/index.html

Press Enter to stop everything.
TEXT
read -r _ || :
