// Package explain has the command that leads from a path, a state, a variable, a module or a target to its
// source, and back. It asks a hub, where there is one.
//
//	cli.Group{Commands: []cli.NewCommand{explain.New}}
package explain

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/ui/cli"
)

// New builds the command explain, to find the source line, commit and run of a path, state
// or step.
func New(s *cli.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "explain WHAT | explain var|module|target NAME | explain TARGET MODULE",
		Short: "Find the source line, commit and run of a path, state or step",
		Long: `Shows the source of the argument, which is one of:

  a path          /etc/motd: the state that manages it, its source and its run.
  an address      pkg:nginx, unit:nginx.service (as plans show them).
  a state         file.motd.
  FILE:LINE       modules/base/module.hcl:9: the steps of this source line.
  var NAME        The value of a variable for a target, and each level that sets
                  it.
  module NAME     Why a target has a module, with the element of its for_each,
                  and its dependencies both ways.
  target NAME     The block that declares a target, with the element of its
                  for_each, and the labels, roles and modules of the target.
  TARGET MODULE   Why a module on a target of the fleet has its state. This
                  information comes from the hub.
  KIND/NAME       cluster/search: why a scope has its verdict, from the hub, and
                  the element of its for_each. Without a hub: its declaration.

The journal contains the applied steps. The repository adds the source line, the
commit that last changed it, and steps that are not applied yet. On a host with
an agent, the journal has the source line, and the commit of each module. If an
address has phases, each phase is shown with its state. A state that waits for a
value from a run is shown with the command that provides the value.`,
		Example: "  fettle explain /etc/motd\n  fettle explain modules/base/module.hcl:9\n" +
			"  fettle explain var domain -t web1\n  fettle explain module web -t web1\n" +
			"  fettle explain target web1\n  fettle explain web1 web",
		Args: cli.Args(1, 2),
		RunE: func(c *cobra.Command, a []string) error {
			if len(a) == 2 && (a[0] == "var" || a[0] == "module") {
				if err := cli.AllowOnly(c, a[0], cli.CompileFlags(), []string{"target"}); err != nil {
					return err
				}
			}
			if len(a) == 2 && a[0] == "target" {
				if err := cli.AllowOnly(c, a[0], cli.CompileFlags()); err != nil {
					return err
				}
				return explainTarget(c.Context(), s, a[1])
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
			return explainOne(c.Context(), s, a[0])
		},
	}
}

// explainOne explains a scope of the fleet, or anything on a host.
func explainOne(ctx context.Context, s *cli.Session, what string) error {
	if isScope(what) {
		return explainScope(ctx, s, what)
	}
	return cli.WithPagedOutput(ctx, s, func(x executor.Executor) error { return explain(ctx, s, x, what) })
}

var scopeForm = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][-_A-Za-z0-9]*/[A-Za-z][-_A-Za-z0-9]*$`) })

// isScope reports whether a text is the name of a scope, KIND/NAME. A directory of modules is not a scope.
func isScope(text string) bool {
	return scopeForm().MatchString(text) && !strings.HasPrefix(text, "modules/")
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
