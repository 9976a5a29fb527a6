package arch

import (
	"fmt"
	"strings"
)

// floor is a storey of the house. A directory ending in "/..." stands for
// everything below it; the longest name that fits a package decides.
type floor struct {
	name        string
	directories []string
}

// floors lists the house from the ground up. A package imports only from
// floors below its own; on its own floor only from its family, the packages
// that share its first directory (verb/act and verb/exec; in the fleet, hub and hub/api).
var floors = []floor{
	{"words", []string{"packaging", "internal/addr", "internal/secret", "internal/diag",
		"internal/duration", "internal/size", "internal/amount", "internal/window", "internal/hint",
		"internal/debver", "internal/semver", "internal/exported", "internal/stream", "internal/stream/streamtest",
		"internal/graph"}},
	{"images", []string{"internal/image"}},
	{"lists and ports", []string{"internal/step", "internal/host", "internal/repo", "internal/probe",
		"internal/lang/front"}},
	{"records and drivers", []string{"internal/journal", "internal/kind", "internal/fact", "internal/statcache",
		"internal/lookcache", "internal/fleetdiff", "internal/sandbox", "internal/secret/vault", "internal/host/...",
		"internal/lang/front/..."}},
	{"decisions", []string{"internal/catalog", "internal/plan", "internal/capture"}},
	{"meaning", []string{"internal/lang/...", "internal/kind/...", "internal/move", "internal/verb"}},
	{"engine parts", []string{"internal/compile", "internal/compile/...", "internal/names", "internal/outside",
		"internal/verb/...", "internal/kind/kindtest"}},
	{"engine", []string{"internal/apply", "internal/listcache"}},
	{"executors", []string{"internal/executor", "internal/executor/..."}},
	{"fleet: vocabulary", []string{
		"internal/fleet", "internal/fleet/smallfile", "internal/fleet/selection", "internal/fleet/fanout",
		"internal/fleet/owner",
	}},
	{"fleet: transport and proof", []string{
		"internal/fleet/pki", "internal/fleet/content", "internal/fleet/document", "internal/fleet/clone",
		"internal/fleet/bus",
		"internal/fleet/bus/...", "internal/fleet/agent/machine", "internal/fleet/agent/durable",
		"internal/fleet/agent/claim",
		"internal/fleet/agent/binary",
	}},
	{"fleet: decisions and queries", []string{"internal/fleet/assign", "internal/fleet/balance",
		"internal/fleet/coordination",
		"internal/fleet/coordination/...", "internal/fleet/elastic", "internal/fleet/rollout",
		"internal/fleet/rollout/...", "internal/fleet/access", "internal/fleet/scope", "internal/fleet/scope/...",
		"internal/fleet/view"}},
	{"fleet: notices and routes", []string{"internal/fleet/notify", "internal/fleet/route"}},
	{"fleet: gates", []string{"internal/fleet/gates"}},
	{"fleet: roles", []string{
		"internal/fleet/hub", "internal/fleet/hub/...", "internal/fleet/agent", "internal/fleet/agent/...",
		"internal/fleet/client",
	}},
	{"application", []string{"internal/enrol", "internal/history", "internal/push", "internal/round",
		"internal/savedplan", "internal/supportbundle", "internal/workspace"}},
	{"ui", []string{"internal/ui/..."}},
	{"top", []string{"cmd/...", "test/...", "examples", "internal/arch"}},
}

// checkFloors tells every import that does not go down. Where whole is set,
// directories of the table that no package stands in are told too.
func checkFloors(pkgs []*pkg, whole bool) []string {
	var broken []string
	used := map[string]bool{}
	for _, p := range pkgs {
		level, directory := floorOf(p.path)
		used[directory] = true
		if level < 0 {
			broken = append(broken, p.path+" stands on no floor: give it one in floors_test.go")
			continue
		}
		for _, imp := range p.own {
			below, _ := floorOf(imp)
			if below < level || below == level && family(imp) == family(p.path) {
				continue
			}
			broken = append(broken, fmt.Sprintf("%s (floor %s) imports %s (floor %s): imports only go down", p.path,
				floorName(level), imp, floorName(below)))
		}
	}
	for _, f := range floors {
		for _, directory := range f.directories {
			if whole && !used[directory] {
				broken = append(broken, fmt.Sprintf("floor %s names %s, and nothing stands there", f.name, directory))
			}
		}
	}
	return broken
}

// floorOf finds the floor of a package, -1 when it has none, and the directory of
// the table that decided.
func floorOf(path string) (level int, directory string) {
	level = -1
	for i, f := range floors {
		for _, name := range f.directories {
			if covers(name, path) && len(name) > len(directory) {
				level, directory = i, name
			}
		}
	}
	return level, directory
}

// covers tells whether a name of a table stands for a package: the package
// itself, or all below a directory.
func covers(name, path string) bool {
	if below, all := strings.CutSuffix(name, "/..."); all {
		return strings.HasPrefix(path, below+"/")
	}
	return name == path
}

func floorName(level int) string {
	if level < 0 {
		return "none"
	}
	return floors[level].name
}

// family is the part of a path that siblings share: internal/verb, and internal/fleet/hub in the
// fleet, which has several packages of each role.
func family(path string) string {
	depth := 2
	if strings.HasPrefix(path, "internal/fleet/") {
		depth = 3
	}
	return upTo(depth, path)
}

// upTo returns the first directories of a path, at most n.
func upTo(n int, path string) string {
	parts := strings.Split(path, "/")
	return strings.Join(parts[:min(n, len(parts))], "/")
}
