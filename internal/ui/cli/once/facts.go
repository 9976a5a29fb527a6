package once

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/round"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// FactsDoc contains the observed facts of a machine.
type FactsDoc struct {
	Format string                     `json:"format"` // fettle.facts/1
	Facts  map[string]json.RawMessage `json:"facts"`  // null where the machine cannot tell
}

// NewFacts builds the command facts, to show the facts of a host.
func NewFacts(s *cli.Session) *cobra.Command {
	var many cli.ManyFlags
	c := &cobra.Command{
		Use:   "facts [NAME…]",
		Short: "Show the facts of a host",
		Long: `Shows the facts of this host, or of the targets that -t selects. A repository
declares each fact that it uses: fact "hostname" { type = string }.
docs/facts.md explains each fact.`,
		Example: "  fettle facts\n  fettle facts hostname memory_bytes\n  fettle facts -t 'web*' kernel --json",
		Args:    cli.Args(0, -1),
		RunE:    func(c *cobra.Command, a []string) error { return runFacts(c.Context(), s, many, a) },
	}
	many.Flags(c)
	return c
}

func runFacts(ctx context.Context, s *cli.Session, many cli.ManyFlags, names []string) error {
	if s.IsMany() {
		return cli.LookMany(ctx, s, many, "Asking", "Asked", map[fanout.Status]string{fanout.OK: "answered"},
			func(ctx context.Context, m *cli.Member, _ executor.Executor) round.Outcome {
				doc, err := factsOf(ctx, m.Session, names)
				if err != nil {
					return cli.Failed(err)
				}
				var b bytes.Buffer
				showFacts(s.Printer, &b, doc)
				return round.Outcome{Status: fanout.OK, Body: b.String(), Doc: doc}
			})
	}
	if _, err := s.Connected(ctx, s.Target); err != nil {
		return err
	}
	doc, err := factsOf(ctx, s, names)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.Document(doc)
	}
	showFacts(s.Printer, s.App.Stdout, doc)
	return nil
}

// factsOf returns the named facts of the machine that is worked on, or all facts if there are no names.
func factsOf(ctx context.Context, s *cli.Session, names []string) (FactsDoc, error) {
	doc := FactsDoc{Format: "fettle.facts/1", Facts: map[string]json.RawMessage{}}
	var all map[string]cty.Value
	if s.Remote != nil {
		all = s.Remote.Facts()
	} else {
		m, err := s.Machine()
		if err != nil {
			return doc, err
		}
		if all, err = s.App.Facts(ctx, m); err != nil {
			return doc, err
		}
	}
	if len(names) == 0 {
		names = cli.SortedNames(all)
	}
	for _, name := range names {
		v, ok := all[name]
		if !ok {
			return doc, cli.Refuse("List them: fettle facts", fmt.Sprintf("cannot show the fact %q: it does not exist", name))
		}
		text, err := ctyjson.Marshal(v, v.Type())
		if err != nil {
			return doc, fmt.Errorf("cannot show the fact %s: %w", name, err)
		}
		doc.Facts[name] = text
	}
	return doc, nil
}

func showFacts(s *cli.Printer, w io.Writer, doc FactsDoc) {
	var pairs []render.Pair
	for _, name := range cli.SortedNames(doc.Facts) {
		text := string(doc.Facts[name])
		var plain string
		if json.Unmarshal(doc.Facts[name], &plain) == nil {
			text = plain
		}
		pairs = append(pairs, render.Pair{Name: name, Value: text})
	}
	s.Style().Pairs(w, pairs)
}
