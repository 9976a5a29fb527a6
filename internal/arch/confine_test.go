package arch

import (
	"fmt"
	"go/types"
	"slices"
	"strings"
)

// confinement says what only some packages may import or use.
type confinement struct {
	law     string
	imports []string // import paths; "log/..." is everything below
	uses    []string // "os.Exit": functions and variables
	only    []allowed
}

var confinements = []confinement{
	{
		law:     "programs are started through host.Host",
		imports: []string{"os/exec"},
		uses:    []string{"os.StartProcess", "syscall.ForkExec", "syscall.Exec", "syscall.StartProcess"},
		only: []allowed{
			{"internal/host/local", "the driver itself"},
			{"internal/repo", "git"},
			{"internal/sandbox",
				"this program again, as the process that compiles or that keeps a program in: design/0008, design/0012"},
			{"test/...", "boots hosts and runs the binary"},
		},
	},
	{
		law:     "system calls are below the ports",
		imports: []string{"syscall", "golang.org/x/sys/unix", "golang.org/x/sys/..."},
		only: []allowed{
			{"internal/host", "errno of full disks"},
			{"internal/host/...", "drivers"},
			{"internal/repo", "owner and link count of work trees"},
			{"internal/sandbox", "limits of the process that compiles: design/0008"},
			{"cmd/fettle", "signals"},
			{"cmd/fettle-target", "signals"},
			{"test/...", "namespaces and mounts"},
		},
	},
	{
		law: "files are written through host.FS",
		uses: []string{
			"os.WriteFile", "os.Create", "os.CreateTemp", "os.OpenFile", "os.OpenRoot", "os.Rename", "os.Remove",
			"os.RemoveAll", "os.Mkdir", "os.MkdirAll",
			"os.MkdirTemp", "os.Symlink", "os.Link", "os.Chmod", "os.Chown", "os.Lchown", "os.Chtimes", "os.Truncate",
		},
		only: []allowed{
			{"internal/repo", "a new repository, and temporary directories for git"},
			{"internal/savedplan", "the file that the user names"},
			{"internal/history", "files of the user, on the workstation"},
			{"internal/ui/cli/...", "files of the person at the keyboard: saved plans, formatted sources, manual pages"},
			{"internal/kind/kindtest", "golden files under -update"},
			{"internal/fleet/view", "takes away the read model, which SQLite writes by itself"},
			{"internal/outside", "the directory of a sandbox, and recorded files of a repository"},
			{"internal/executor/here", "the state directory itself, and the machine's identity"},
			{"cmd/fettle", "the directories of a new hub and of its socket"},
			{"test/...", "roots of test hosts"},
		},
	},
	{
		law:  "only ui uses the standard streams",
		uses: []string{"fmt.Print", "fmt.Printf", "fmt.Println", "os.Stdout", "os.Stderr", "os.Stdin"},
		imports: []string{
			"log", "log/slog",
		},
		only: []allowed{
			{"cmd/fettle", "hands the streams to ui, which writes to what it is given"},
			{"cmd/fettle-target", "its streams are the connection; what is wrong it says to the other end's ssh"},
			{"test/...", "speaks to whoever runs tests"},
		},
	},
	{
		law:  "only cmd ends the process",
		uses: []string{"os.Exit", "runtime.Goexit", "log.Fatal", "log.Fatalf"},
		only: []allowed{
			{"cmd/fettle", "the exit code"},
			{"cmd/fettle-target", "the exit code"},
			{"test/bench", "the exit code of the benchmark"},
			{"test/bench/hosts", "the exit code of the benchmark"},
			{"test/bench/fleet", "the exit code of the benchmark"},
			{"test/cover", "the exit code of the gate"},
			{"test/mutants", "the exit code of the gate"},
		},
	},
	{
		law:  "environment variables are read at the top",
		uses: []string{"os.Getenv", "os.LookupEnv", "os.Environ", "os.ExpandEnv", "os.Setenv"},
		only: []allowed{
			{"internal/repo", "git's own environment, cleaned"},
			{"cmd/fettle", "hands it to ui"},
			{"cmd/fettle-target", "hands it on"},
			{"test/...", "settings of the test hosts"},
		},
	},
	{
		law:     "few packages use the network",
		imports: []string{"net", "net/http", "net/http/...", "net/rpc/...", "crypto/tls"},
		only: []allowed{
			{"internal/probe", "what checks ask"},
			{"internal/outside", "what lookups ask, when a person says so"},
			{"internal/fact", "the addresses of interfaces"},
			{"internal/step", "parses addresses, opens nothing"},
			{"internal/host/local", "systemd's socket"},
			{"internal/fleet/agent/member", "what an agent fetches with its certificate"},
			{"cmd/fettle", "tells systemd that an agent is up"},
			{"internal/fleet/bus", "connections of agents and hubs"},
			{"internal/fleet/bus/agentconn", "one of them"},
			{"internal/fleet/hub/api", "the hub's interface for people and programs"},
			{"internal/fleet/hub/locks", "the FleetLock protocol for targets"},
			{"internal/fleet/hub/api/apitest", "the same for tests"},
			{"internal/fleet/pki", "TLS of hubs and agents, enrolment and renewal"},
			{"internal/fleet/client", "asks a hub, for the command line"},
			{"internal/fleet/hub/metrics", "a handler that Prometheus asks"},
			{"internal/fleet/content", "serves and fetches bundles, takes webhooks"},
			{"internal/fleet/access", "who asks by HTTP, and the keys of OIDC providers"},
			{"internal/fleet/notify", "tells webhooks and mail servers"},
			{"internal/fleet/hub", "serves people, enrolment and content"},
			{"internal/fleet/hub/binaries", "takes uploads of binaries"},
			{"internal/fleet/hub/certificates", "asks another hub to certify this one"},
			{"internal/fleet/hub/contents", "serves content, and fetches it from other hubs"},
			{"internal/fleet/gates", "queries Prometheus and webhooks about rollouts"},
			{"internal/fleet/hub/members", "connections between hubs, and hubs that join"},
			{"internal/fleet/hub/users", "signs browsers in"},
			{"internal/ui/web", "serves the pages"},
			{"test/fakehub", "a hub for their tests"},
			{"cmd/fettle", "the socket at which a hub takes commands of root"},
			{"test/...", "networks of test hosts"},
		},
	},
	{
		law:     "only the bus uses NATS",
		imports: []string{"github.com/nats-io/..."},
		only: []allowed{{"internal/fleet/bus", "the bus itself"},
			{"internal/fleet/bus/bustest", "the real server in tests"}},
	},
	{
		law:     "only the language uses HCL",
		imports: []string{"github.com/hashicorp/hcl/..."},
		only: []allowed{
			{"internal/lang/syntax", "reads it"},
			{"internal/lang/format", "writes it in canonical form"},
			{"internal/lang/functions", "divisions in its expressions"},
			{"internal/lang/source", "its blocks"},
			{"internal/lang/query", "its expressions that need no target"},
			{"internal/lang/eval", "its expressions"},
			{"internal/lang/incremental", "names of variables"},
		},
	},
	{
		law:     "YAML is read by the language, and as a file of the target",
		imports: []string{"go.yaml.in/..."},
		only: []allowed{{"internal/lang/front/yamlfront", "the front end"},
			{"internal/lang/eval", "variables in data files"}, {"internal/verb/edit/document", "values of files on the target"}},
	},
	{
		law:     "programs of a repository run in one place",
		imports: []string{"go.starlark.net/..."},
		only:    []allowed{{"internal/lang/front/starfront", "the front end"}},
	},
	{
		law:     "the command line's libraries stay in ui",
		imports: []string{"github.com/spf13/...", "charm.land/...", "golang.org/x/term"},
		only:    []allowed{{"internal/ui/...", "it is ui"}, {"cmd/fettle", "asks for passwords"}},
	},
	{
		law:     "systemd's socket is opened by the local host",
		imports: []string{"github.com/godbus/...", "github.com/coreos/..."},
		only:    []allowed{{"internal/host/local", "the driver itself"}},
	},
	{
		law:     "only the sandbox uses Landlock",
		imports: []string{"github.com/landlock-lsm/..."},
		only:    []allowed{{"internal/sandbox", "the limits themselves"}},
	},
	{
		law:     "SQLite stores only the read model",
		imports: []string{"modernc.org/...", "database/sql", "database/sql/..."},
		only:    []allowed{{"internal/fleet/view", "the read model"}},
	},
	{
		law:     "no cgo, no unsafe, no plugins",
		imports: []string{"C", "unsafe", "plugin"},
	},
}

// checkConfinements: what only some may do, only they do.
func checkConfinements(pkgs []*pkg, laws []confinement, whole bool) []string {
	var broken []string
	for _, c := range laws {
		needed := map[string]bool{}
		for _, p := range pkgs {
			for _, what := range p.foreign {
				if slices.ContainsFunc(c.imports, func(name string) bool { return covers(name, what) }) &&
					!excepted(c.only, p.path, needed) {
					broken = append(broken, fmt.Sprintf("%s imports %s: %s", p.path, what, c.law))
				}
			}
			for _, u := range p.uses(c.uses) {
				if !excepted(c.only, p.path, needed) {
					broken = append(broken, fmt.Sprintf("%s uses %s: %s", u.file, u.name, c.law))
				}
			}
		}
		if whole {
			broken = append(broken, stale(c.law, c.only, needed)...)
		}
	}
	return broken
}

// use is one place where a function or variable of another package is named.
type use struct{ name, file string }

// uses finds the places where any of these names is used.
func (p *pkg) uses(names []string) []use {
	var out []use
	for id, obj := range p.info.Uses {
		if name := qualified(obj); slices.Contains(names, name) {
			out = append(out, use{name, p.file(id.Pos())})
		}
	}
	slices.SortFunc(out, func(a, b use) int { return strings.Compare(a.file+a.name, b.file+b.name) })
	return out
}

// qualified is the name of a package-level object with its package's path, ""
// for everything else.
func qualified(obj types.Object) string {
	if obj.Pkg() == nil || obj.Parent() != obj.Pkg().Scope() {
		return ""
	}
	return obj.Pkg().Path() + "." + obj.Name()
}
