//go:build !target

package cli

import (
	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
)

func newAskPolicy(s *session) *cobra.Command {
	var w watching
	c := &cobra.Command{
		Use:   "policy",
		Short: "Show what becomes of what agents ask for",
		Long: `What agents ask for is held until somebody approves or refuses it, allowed at once, or
refused always. The policy is the fleet's: all hubs answer by it, and it is in their backup.`,
		Example: "  fettle ask policy\n  fettle ask policy set suspect allow",
		Args:    args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return showing(c.Context(), s, w, func(hub *client.Client) (document.AskPolicy, error) { return hub.AskPolicy(c.Context()) }, s.showAskPolicy)
		},
	}
	w.flag(c)
	c.AddCommand(newAskPolicySet(s))
	return c
}

func (s *session) showAskPolicy(p document.AskPolicy) {
	rows := [][]string{}
	for _, what := range fleet.AskKinds() {
		rows = append(rows, []string{string(what), string(p.Answers[what])})
	}
	s.style().Table(s.app.Stdout, []string{"ASKED FOR", "IS"}, rows)
	if p.Changed > 0 {
		s.printf("\nChanged %s ago by %s\n", s.ago(p.Changed), p.By)
	}
}

func newAskPolicySet(s *session) *cobra.Command {
	return &cobra.Command{
		Use:     "set freeze|suspect hold|allow|refuse",
		Short:   "Say what becomes of what agents ask for, at all hubs",
		Example: "  fettle ask policy set suspect allow",
		Args:    args(2, 2),
		RunE: func(c *cobra.Command, a []string) error {
			hub, err := s.hub()
			if err != nil {
				return err
			}
			d, err := hub.SetAskPolicy(c.Context(), document.AskPolicyRequest{What: fleet.AskKind(a[0]), Answer: fleet.Verdict(a[1])})
			if err != nil {
				return err
			}
			return s.done("ask policy set", 0, d.Text)
		},
	}
}
