package cli

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
	"fettle.dev/fettle/internal/ui/render"
)

// factsDoc contains the observed facts of a machine.
type factsDoc struct {
	Format string                     `json:"format"` // fettle.facts/1
	Facts  map[string]json.RawMessage `json:"facts"`  // null where the machine cannot tell
}

func newFacts(s *session) *cobra.Command {
	var many manyFlags
	c := &cobra.Command{
		Use:   "facts [NAME…]",
		Short: "Show the facts of a host",
		Long: `Shows the facts of this host, or of the targets that -t selects. A repository
declares each fact that it uses: fact "hostname" { type = string }.
docs/facts.md explains each fact.`,
		Example: "  fettle facts\n  fettle facts hostname memory_bytes\n  fettle facts -t 'web*' kernel --json",
		Args:    args(0, -1),
		RunE:    func(c *cobra.Command, a []string) error { return runFacts(c.Context(), s, many, a) },
	}
	many.flags(c)
	return c
}

func runFacts(ctx context.Context, s *session, many manyFlags, names []string) error {
	if s.isMany() {
		return lookMany(ctx, s, many, "Asking", "Asked", map[fanout.Status]string{fanout.OK: "answered"},
			func(ctx context.Context, m *member, _ executor.Executor) outcome {
				doc, err := factsOf(ctx, m.session, names)
				if err != nil {
					return failed(err)
				}
				var b bytes.Buffer
				showFacts(s.printer, &b, doc)
				return outcome{status: fanout.OK, body: b.String(), doc: doc}
			})
	}
	if _, err := s.connected(ctx, s.target); err != nil {
		return err
	}
	doc, err := factsOf(ctx, s, names)
	if err != nil {
		return err
	}
	if s.json {
		return s.document(doc)
	}
	showFacts(s.printer, s.app.Stdout, doc)
	return nil
}

// factsOf returns the named facts of the machine that is worked on, or all facts if there are no names.
func factsOf(ctx context.Context, s *session, names []string) (factsDoc, error) {
	doc := factsDoc{Format: "fettle.facts/1", Facts: map[string]json.RawMessage{}}
	var all map[string]cty.Value
	if s.remote != nil {
		all = s.remote.Facts()
	} else {
		m, err := s.machine()
		if err != nil {
			return doc, err
		}
		if all, err = s.app.Facts(ctx, m); err != nil {
			return doc, err
		}
	}
	if len(names) == 0 {
		names = sortedNames(all)
	}
	for _, name := range names {
		v, ok := all[name]
		if !ok {
			return doc, refuse("List them: fettle facts", fmt.Sprintf("cannot show the fact %q: it does not exist", name))
		}
		text, err := ctyjson.Marshal(v, v.Type())
		if err != nil {
			return doc, fmt.Errorf("cannot show the fact %s: %w", name, err)
		}
		doc.Facts[name] = text
	}
	return doc, nil
}

func showFacts(s *printer, w io.Writer, doc factsDoc) {
	var pairs []render.Pair
	for _, name := range sortedNames(doc.Facts) {
		text := string(doc.Facts[name])
		var plain string
		if json.Unmarshal(doc.Facts[name], &plain) == nil {
			text = plain
		}
		pairs = append(pairs, render.Pair{Name: name, Value: text})
	}
	s.style().Pairs(w, pairs)
}
