package scopes

import (
	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

// NewTask builds the command task, for work that a scope does once.
func NewTask(s *cli.Session) *cobra.Command {
	c := &cobra.Command{
		Use:   "task",
		Short: "Tasks that a scope does once",
		Long: `Shows the tasks of scopes, and lets you decide about failed and unknown ones: a
task is done once for each content, by one member of the scope: docs/scopes.md.`,
		Example: "  fettle task list\n  fettle task retry cluster/search templates --reason 'the disk is replaced'",
		Args:    cli.Args(0, 0),
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newTaskList(s), newTaskRetry(s), newTaskResolve(s))
	return c
}

func newTaskList(s *cli.Session) *cobra.Command {
	var w hubclient.Watching
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the tasks of all scopes",
		Example: "  fettle task list\n  fettle task list --watch",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return hubclient.ShowingRoute(c.Context(), s.Printer, w, route.Tasks(), showTasks)
		},
	}
	w.Flag(c)
	return c
}

func newTaskRetry(s *cli.Session) *cobra.Command {
	var r document.ReasonRequest
	c := &cobra.Command{
		Use:   "retry SCOPE TASK",
		Short: "Do a task again",
		Long: `Lets a scope do a task again that failed, whose result is unknown, or that is
done. A member begins it when the conditions of the task hold. If the task has a
verify block that succeeds, it is done without its command.`,
		Example: "  fettle task retry cluster/search templates --reason 'the disk is replaced'",
		Args:    cli.Args(2, 2),
		RunE: func(c *cobra.Command, a []string) error {
			if r.Reason == "" {
				return cli.Refuse("Add --reason WHY", "cannot retry a task without a reason")
			}
			return post(c, s.Printer, route.RetryTask(), a, r)
		},
	}
	cli.ReasonFlag(c, &r.Reason)
	return c
}

func newTaskResolve(s *cli.Session) *cobra.Command {
	var r document.TaskResult
	var done, failed bool
	c := &cobra.Command{
		Use:   "resolve SCOPE TASK --done|--failed",
		Short: "Set the result of a task that is unknown or failed",
		Long: `Sets the result of a task after the target that did it was lost, or after it
failed. First find out whether it is done. Tasks after it begin only if it is
done.`,
		Example: "  fettle task resolve cluster/search templates --done --reason 'the templates exist'",
		Args:    cli.Args(2, 2),
		RunE: func(c *cobra.Command, a []string) error {
			switch {
			case r.Reason == "":
				return cli.Refuse("Add --reason WHY", "cannot set the result of a task without a reason")
			case done == failed:
				return cli.Refuse("Add --done or --failed", "cannot set the result of a task without a result")
			}
			r.Result = document.TaskDone
			if failed {
				r.Result = document.TaskFailed
			}
			return post(c, s.Printer, route.ResolveTask(), a, r)
		},
	}
	c.Flags().BoolVar(&done, "done", false, "the task is done")
	c.Flags().BoolVar(&failed, "failed", false, "the task is not done")
	cli.ReasonFlag(c, &r.Reason)
	return c
}

// post sends a request about a task and shows the answer.
func post[R any](c *cobra.Command, s *cli.Printer, to route.Route[route.TaskName, R, document.Done], args []string,
	r R) error {
	at, err := scopeID(c.Context(), s, args[0])
	if err != nil {
		return err
	}
	hub, err := hubclient.HubOf(s)
	if err != nil {
		return err
	}
	d, err := client.Call(c.Context(), hub, to, route.TaskName{Kind: at.Kind, Scope: at.Scope, Task: args[1]}, r)
	if err != nil {
		return err
	}
	return hubclient.ShowDocument(s, d, func() { s.Printf("%s\n", d.Text) })
}
