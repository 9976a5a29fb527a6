package repository

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/workspace"
)

// ExplainDoc leads from a thing on a machine to its source, and back.
type ExplainDoc struct {
	Format    string          `json:"format"` // fettle.explain/2
	What      string          `json:"what"`
	Items     []explanation   `json:"items,omitempty"`
	Variables []cli.Variable  `json:"variables,omitempty"`
	Modules   []usedModuleDoc `json:"modules,omitempty"`
}

// NewExplain builds the command explain, to find the source line, commit and run of a path, state
// or step.
func NewExplain(s *cli.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "explain WHAT | explain var NAME | explain module NAME | explain TARGET MODULE",
		Short: "Find the source line, commit and run of a path, state or step",
		Long: `Shows the source of the argument, which is one of:

  a path          /etc/motd: the state that manages it, its source and its run.
  an address      pkg:nginx, unit:nginx.service (as plans show them).
  a state         file.motd.
  FILE:LINE       modules/base/module.hcl:9: the steps of this source line.
  var NAME        The value of a variable for a target, and each level that sets it.
  module NAME     Why a target has a module, and its dependencies both ways.
  TARGET MODULE   Why a module on a target of the fleet has its state. This
                  information comes from the hub.

The journal contains the applied steps. The repository adds the source line, the
commit that last changed it, and steps that are not applied yet. On a host with
an agent, the journal has the source line, and the commit of each module. If an
address has phases, each phase is shown with its state. A state that waits for a
value from a run is shown with the command that provides the value.`,
		Example: "  fettle explain /etc/motd\n  fettle explain modules/base/module.hcl:9\n  fettle explain var domain -t web1\n  fettle explain module web -t web1\n  fettle explain web1 web",
		Args:    cli.Args(1, 2),
		RunE: func(c *cobra.Command, a []string) error {
			if len(a) == 2 && (a[0] == "var" || a[0] == "module") {
				if err := cli.AllowOnly(c, a[0], cli.CompileFlags(), []string{"target"}); err != nil {
					return err
				}
			}
			if len(a) == 2 {
				switch a[0] {
				case "var":
					return explainVariable(c.Context(), s, a[1])
				case "module":
					return explainModule(c.Context(), s, a[1])
				}
				if err := cli.AllowOnly(c, "TARGET MODULE"); err != nil {
					return err
				}
				return explainOnHub(c.Context(), s.Printer, a[0], a[1])
			}
			return cli.WithPagedOutput(c.Context(), s, func(x executor.Executor) error {
				return explain(c.Context(), s, x, a[0])
			})
		},
	}
}

// known is the data from which explain explains.
type known struct {
	status executor.Status
	runs   map[int]journal.RunInfo
	states []executor.StateRef // of the applied list
	wanted *executor.Request   // nil where there is no repository, or it does not compile
	waits  []executor.Deferred // states of the repository that wait for a value of a run
	source *workspace.Source   // nil where there is no repository
}

func explain(ctx context.Context, s *cli.Session, x executor.Executor, what string) error {
	k, err := gather(ctx, s, x)
	if err != nil {
		return err
	}
	if k.source != nil {
		defer k.source.Repo.Close()
	}
	doc := ExplainDoc{Format: "fettle.explain/2", What: what}
	for _, a := range k.find(what) {
		doc.Items = append(doc.Items, explainAddr(ctx, s.Printer, k, a))
	}
	for _, h := range k.findWaiting(what, doc.Items) {
		doc.Items = append(doc.Items, explainWaiting(ctx, s.Printer, k, h))
	}
	if len(doc.Items) == 0 {
		return cli.Refuse("See what is managed: fettle compile\nSee what was done: fettle log",
			fmt.Sprintf("cannot explain %q: it is neither applied nor declared here", what))
	}
	if s.JSON {
		return s.Document(doc)
	}
	showExplanations(s.Printer, doc.Items)
	return nil
}

func gather(ctx context.Context, s *cli.Session, x executor.Executor) (*known, error) {
	k := &known{runs: map[int]journal.RunInfo{}}
	var err error
	if k.status, err = x.Status(ctx); err != nil {
		return nil, err
	}
	runs, err := x.Runs(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		k.runs[r.Header.Run] = r
	}
	if run := k.status.State.Run; run > 0 {
		if shown, err := x.Show(ctx, run); err == nil {
			k.states = shown.States
		}
	}
	gatherWanted(ctx, s, x, k)
	return k, nil
}

// gatherWanted adds the states of the repository as far as they can be compiled. The applied state is
// explained without them, so errors of the repository stop nothing.
func gatherWanted(ctx context.Context, s *cli.Session, x executor.Executor, k *known) {
	src, err := s.OpenSource(ctx, s.Rev)
	if err != nil {
		return
	}
	k.source = src
	target, err := s.ChooseTarget(src)
	if err != nil {
		return
	}
	in, err := s.Input(ctx, src.Tree, target)
	if err != nil {
		return
	}
	req, err := s.ListOf(src, in)
	if err != nil {
		return
	}
	if made := informed(ctx, x, req); made.Fill() == nil {
		k.wanted, k.waits = made, made.Deferred
	}
}

// informed returns a request with the outputs of commands that the machine has recorded. An executor
// needs them to plan.
func informed(ctx context.Context, x executor.Executor, req executor.Request) *executor.Request {
	last := &req
	if req.Next == nil {
		return last
	}
	asking := req
	var watch func(next func(executor.Known) (executor.Request, error)) func(executor.Known) (executor.Request, error)
	watch = func(next func(executor.Known) (executor.Request, error)) func(executor.Known) (executor.Request, error) {
		if next == nil {
			return nil
		}
		return func(known executor.Known) (executor.Request, error) {
			r, err := next(known)
			if err == nil {
				made := r
				last, r.Next = &made, watch(r.Next)
			}
			return r, err
		}
	}
	asking.Next, asking.Guards = watch(req.Next), executor.NoGuards
	_, _ = x.Plan(ctx, asking) // the outputs that were read count, even if the plan fails
	return last
}

var fileLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([^:]+):(\d+)(:\d+)?$`) })

// find gives the addresses that what is about, in list order.
func (k *known) find(what string) []addr.Addr {
	if m := fileLine().FindStringSubmatch(what); m != nil && !isAddr(what) {
		line, _ := strconv.Atoi(m[2])
		return k.atLine(m[1], line)
	}
	match := func(a addr.Addr) bool { return a.String() == what || a.Path() == what && what != "" }
	if found := k.addrs(match); len(found) > 0 {
		return found
	}
	if found := k.ofState(what); len(found) > 0 {
		return found
	}
	return k.addrs(func(a addr.Addr) bool { return a.Name() == what })
}

func isAddr(s string) bool {
	_, err := addr.Parse(s)
	return err == nil
}

// addrs are the addresses, applied or wanted, that match, each once.
func (k *known) addrs(match func(addr.Addr) bool) []addr.Addr {
	var out []addr.Addr
	seen := map[addr.Addr]bool{}
	add := func(a addr.Addr) {
		if !seen[a] && match(a) {
			seen[a] = true
			out = append(out, a)
		}
	}
	for _, e := range k.status.State.Entries {
		add(e.Addr)
	}
	if k.wanted != nil {
		for _, st := range k.wanted.List {
			add(st.Addr())
		}
	}
	return out
}

func (k *known) allStates() []executor.StateRef {
	if k.wanted == nil {
		return k.states
	}
	return append(append([]executor.StateRef{}, k.states...), k.wanted.States...)
}

func (k *known) ofState(id string) []addr.Addr {
	in := map[addr.Addr]bool{}
	for _, st := range k.allStates() {
		if isCalled(st.ID, id) {
			for _, a := range st.Addrs {
				in[a] = true
			}
		}
	}
	return k.addrs(func(a addr.Addr) bool { return in[a] })
}

// atLine returns the steps of a source line: the steps whose source begins there, otherwise the steps
// of the last state that begins above the line.
func (k *known) atLine(file string, line int) []addr.Addr {
	best := k.beginsAt(file, line)
	in := map[addr.Addr]bool{}
	for a, source := range k.sources() {
		for _, src := range source {
			if f, n := splitSource(src); n > 0 && n == best && sameFile(f, file) {
				in[a] = true
			}
		}
	}
	return k.addrs(func(a addr.Addr) bool { return in[a] })
}

// beginsAt is the line at which the last state that begins at a line or above it
// does, 0 for none.
func (k *known) beginsAt(file string, line int) int {
	best := 0
	look := func(src string) {
		if f, n := splitSource(src); n <= line && n > best && sameFile(f, file) {
			best = n
		}
	}
	for _, source := range k.sources() {
		for _, src := range source {
			look(src)
		}
	}
	for _, h := range k.waits {
		look(h.Source)
	}
	return best
}

// sources returns the source places of each address.
func (k *known) sources() map[addr.Addr][]string {
	out := map[addr.Addr][]string{}
	for _, e := range k.status.State.Entries {
		out[e.Addr] = append(out[e.Addr], e.Src)
	}
	if k.wanted != nil {
		for _, st := range k.wanted.List {
			out[st.Addr()] = append(out[st.Addr()], st.Source)
		}
	}
	return out
}

// sameFile compares a path of the repository with a path that the user typed.
func sameFile(known, typed string) bool {
	typed = strings.TrimPrefix(typed, "./")
	return known == typed || strings.HasSuffix(typed, "/"+known)
}

func splitSource(src string) (file string, line int) {
	m := fileLine().FindStringSubmatch(src)
	if m == nil {
		return src, 0
	}
	line, _ = strconv.Atoi(m[2])
	return m[1], line
}
