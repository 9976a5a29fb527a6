package waits

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/duration"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

// NewSignal builds the command signal, for named messages that states wait for.
func NewSignal(s *cli.Session) *cobra.Command {
	c := &cobra.Command{
		Use:   "signal",
		Short: "Signals for which states wait",
		Long: `Sends, shows and clears the signals that the repository declares. States of the
kind wait_for wait for them: docs/barriers.md.`,
		Example: "  fettle signal list\n  fettle signal send schema --payload v2",
		Args:    cli.Args(0, 0),
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newSignalList(s), newSignalSend(s), newSignalClear(s))
	return c
}

func newSignalList(s *cli.Session) *cobra.Command {
	var w hubclient.Watching
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the signals that were sent and are kept",
		Example: "  fettle signal list\n  fettle signal list --watch",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return hubclient.ShowingRoute(c.Context(), s.Printer, w, route.Signals(), showSignals)
		},
	}
	w.Flag(c)
	return c
}

func newSignalSend(s *cli.Session) *cobra.Command {
	var r document.SignalRequest
	c := &cobra.Command{
		Use:   "send SIGNAL",
		Short: "Send a signal for which states wait",
		Long: `Sends a signal. States that wait for it continue, and states that wait later
too, while the signal is kept. If you repeat it with the same payload, the
signal gets a new time. A payload is not secret: do not send passwords.`,
		Example: "  fettle signal send schema\n  fettle signal send schema --payload v2",
		Args:    cli.Args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			return post(c, s.Printer, route.SendSignal(), a[0], r)
		},
	}
	c.Flags().StringVar(&r.Payload, "payload", "", "`TEXT` for the states that wait, up to 4 KiB")
	return c
}

func newSignalClear(s *cli.Session) *cobra.Command {
	var r document.ReasonRequest
	c := &cobra.Command{
		Use:   "clear SIGNAL",
		Short: "Remove the sent signals of a name",
		Long: `Removes all sent signals of a name, so that they no longer count as sent. States
that continued because of them are not changed.`,
		Example: "  fettle signal clear schema --reason 'it was the wrong version'",
		Args:    cli.Args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			if r.Reason == "" {
				return cli.Refuse("Add --reason WHY", "cannot clear a signal without a reason")
			}
			return post(c, s.Printer, route.ClearSignal(), a[0], r)
		},
	}
	cli.ReasonFlag(c, &r.Reason)
	return c
}

// post sends a request about a signal and shows the answer.
func post[R any](c *cobra.Command, s *cli.Printer, to route.Route[route.SignalName, R, document.Done], name string,
	r R) error {
	hub, err := hubclient.HubOf(s)
	if err != nil {
		return err
	}
	d, err := client.Call(c.Context(), hub, to, route.SignalName{Signal: name}, r)
	if err != nil {
		return err
	}
	return hubclient.ShowDocument(s, d, func() { s.Printf("%s\n", d.Text) })
}

func showSignals(s *cli.Printer, p document.SignalPage) {
	if len(p.Signals) == 0 {
		s.Printf("The repository declares no signals. See docs/barriers.md\n")
		return
	}
	for i, x := range p.Signals {
		if i > 0 {
			s.Printf("\n")
		}
		showSignal(s, x)
	}
}

// maxShown is the number of characters of a payload in the list.
const maxShown = 60

func showSignal(s *cli.Printer, x document.Signal) {
	sent := "not sent"
	if n := len(x.Sent); n > 0 {
		sent = "sent at " + s.Moment(x.Sent[n-1].At)
	}
	note := "; kept for " + duration.Text(time.Duration(x.Keep)) + "; senders: " +
		cmp.Or(strings.Join(x.Senders, ", "), "only users")
	if x.Undeclared {
		note = "; the repository no longer declares this signal"
	}
	s.Printf("%s: %s%s\n", x.Name, sent, note)
	if len(x.Sent) == 0 {
		return
	}
	var rows [][]string
	for _, m := range x.Sent {
		kind := "target"
		if m.Target == "" {
			kind = "user"
		}
		payload := []rune(strconv.Quote(m.Payload))
		if len(payload) > maxShown {
			payload = append(payload[:maxShown], '…')
		}
		if m.Payload == "" {
			payload = nil
		}
		rows = append(rows, []string{s.Moment(m.At), kind + " " + m.Sender, string(payload)})
	}
	s.Style().Table(s.App.Stdout, []string{"SENT", "SENDER", "PAYLOAD"}, rows)
}
