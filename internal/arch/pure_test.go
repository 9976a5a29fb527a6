package arch

import (
	"go/ast"
	"slices"
	"strings"
)

// pure lists what decides: the same input gives the same result, so these
// neither look at a clock, at randomness or at the machine, nor start a
// goroutine. A name with .go is a single file.
var pure = []string{
	"internal/addr", "internal/diag", "internal/duration", "internal/size", "internal/amount", "internal/window",
	"internal/graph", "internal/ui/listgraph", "internal/image", "internal/debver", "internal/semver", "internal/step",
	"internal/fleetdiff",
	"internal/kind", "internal/kind/...", "internal/catalog",
	"internal/lang/syntax", "internal/lang/format", "internal/lang/functions",
	"internal/lang/source", "internal/lang/query", "internal/lang/eval", "internal/lang/incremental",
	"internal/lang/front", "internal/lang/front/...", "internal/compile", "internal/compile/child", "internal/plan",
	"internal/fleet/selection", "internal/fleet/assign", "internal/fleet/balance", "internal/fleet/rollout",
	"internal/fleet/clone",
	"internal/fleet/coordination", "internal/fleet/coordination/...", "internal/fleet/elastic", "internal/fleet/scope",
	"internal/fleet/scope/checks/schedule.go",
	"internal/fleet/agent/machine", "internal/fleet/fanout/fanout.go", "internal/fleet/fanout/machine.go",
	"internal/fleet/pki/admit.go", "internal/fleet/pki/verificationtime.go", "internal/fleet/pki/trust.go",
	"internal/fleet/pki/name.go", "internal/fleet/pki/claims.go", "internal/fleet/pki/revoke.go",
	"internal/fleet/access/right.go", "internal/fleet/access/record.go", "internal/fleet/access/verify.go",
	"internal/fleet/access/jwt.go",
	"internal/fleet/fanout/fanout.go", "internal/fleet/fanout/machine.go",
	"internal/fleet/bus/election.go",
	"internal/fleet/content/follow.go", "internal/fleet/content/commit.go", "internal/fleet/content/permit.go",
	"internal/fleet/content/gitobject.go", "internal/fleet/content/compose.go", "internal/fleet/content/signers.go",
	"internal/apply/machine.go",
}

// kindtest runs golden tests and is on no one's way to a list.
var impure = []allowed{{"internal/kind/kindtest", "reads and rewrites golden files"}}

var unsteady = []string{
	"time.Now", "time.Since", "time.Until", "time.After", "time.AfterFunc", "time.Tick", "time.NewTimer",
	"time.NewTicker", "time.Sleep", "time.Local",
}

var unsteadyImports = []string{"math/rand", "math/rand/v2", "crypto/rand", "os", "os/...", "net/http", "hash/maphash",
	"context", "runtime"}

// checkPure: what decides depends on nothing but its input.
func checkPure(pkgs []*pkg, whole bool) []string {
	var broken []string
	needed, seen := map[string]bool{}, map[string]bool{}
	for _, p := range pkgs {
		for _, f := range p.files {
			name := covering(pure, p.path, p.file(f.Pos()))
			seen[name] = true
			if name == "" {
				continue
			}
			for _, b := range p.impurities(f) {
				if !excepted(impure, p.path, needed) {
					broken = append(broken, p.file(f.Pos())+" decides and must be pure, but "+b)
				}
			}
		}
	}
	for _, name := range pure {
		if whole && !seen[name] {
			broken = append(broken, "pure names "+name+", which is not there")
		}
	}
	if whole {
		broken = append(broken, stale("pure", impure, needed)...)
	}
	return broken
}

// covering is the name of a list that stands for a package or its file, "" when
// none does.
func covering(names []string, path, file string) string {
	for _, name := range names {
		if covers(name, path) || name == file {
			return name
		}
	}
	return ""
}

// impurities tells by what one file depends on more than its input.
func (p *pkg) impurities(f *ast.File) []string {
	var out []string
	for _, imp := range f.Imports {
		what := strings.Trim(imp.Path.Value, `"`)
		if slices.ContainsFunc(unsteadyImports, func(name string) bool { return covers(name, what) }) {
			out = append(out, "imports "+what)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			out = append(out, "starts a goroutine")
		case *ast.Ident:
			if obj := p.info.Uses[n]; obj != nil && slices.Contains(unsteady, qualified(obj)) {
				out = append(out, "uses "+qualified(obj))
			}
		}
		return true
	})
	return out
}
