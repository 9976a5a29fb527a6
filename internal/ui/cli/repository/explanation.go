package repository

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/lang/eval"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// explanation is the way from one address to its source.
type explanation struct {
	Addr    addr.Addr `json:"addr"`
	Applied string    `json:"applied,omitempty"` // the step in force
	Wanted  string    `json:"wanted,omitempty"`  // the step that the repository wants
	State   string    `json:"state,omitempty"`
	Source  string    `json:"source,omitempty"` // file:line
	Line    string    `json:"line,omitempty"`   // its text
	// Commit last wrote the line. Without a repository that has the applied commit, it is the
	// commit of Part in the journal.
	Commit *repo.Revision `json:"commit,omitempty"`
	Part   string         `json:"part,omitempty"`  // "modules/web", "." for the root
	Run    *cli.RunDoc    `json:"run,omitempty"`   // the run that changed it last
	First  int            `json:"first,omitempty"` // the run that first managed it
	Origin string         `json:"origin,omitempty"`
	By     addr.Addr      `json:"by,omitempty"` // the directory whose purge removed it
	// Deferred names the value of a run that the state waits for.
	Deferred string `json:"deferred,omitempty"`
	// Phases are the states of the address, one after the other, where it has
	// several.
	Phases []phaseDoc `json:"phases,omitempty"`
	phase  int        `json:"-"` // of the applied step, or otherwise of the last wanted one
}

func explainAddr(ctx context.Context, s *cli.Printer, k *known, a addr.Addr) explanation {
	e := explanation{Addr: a, phase: 1}
	commit := ""
	for _, entry := range k.status.State.Entries {
		if entry.Addr == a {
			commit = k.applied(&e, entry)
		}
	}
	if k.wanted != nil {
		k.want(&e)
	}
	e.State = k.stateAt(a, e.phase)
	k.sourceLine(ctx, &e, commit)
	return e
}

// applied adds the data of the journal, and returns the commit at which the source must be read.
func (k *known) applied(e *explanation, entry journal.Entry) string {
	e.Applied, e.Source, e.First, e.By = entry.Step.String(), entry.Src, entry.FirstRun, entry.PurgedBy
	e.Origin, e.phase = originText(entry.Origin), entry.Step.Phase()
	commit := k.status.State.Revision.Commit
	if file, _ := splitSource(entry.Src); entry.Src != "" {
		if part, ok := k.status.State.Revision.PartOf(file); ok {
			commit = part.Commit
		}
	}
	if r, ok := k.runs[entry.Run]; ok {
		doc := cli.RunJSON(r)
		e.Run = &doc
	}
	return commit
}

func holds(l []addr.Addr, a addr.Addr) bool {
	for _, x := range l {
		if x == a {
			return true
		}
	}
	return false
}

// sourceLine reads the line and its last author, at the applied commit, otherwise in the files as they
// are. If the repository cannot be read, both stay empty.
func (k *known) sourceLine(ctx context.Context, e *explanation, commit string) {
	file, line := splitSource(e.Source)
	if line == 0 || e.Applied != "" && !k.has(ctx, commit) && k.recordedLine(e, file) || k.source == nil {
		return
	}
	tree := k.source.Tree
	if commit == "" {
		commit = k.source.Rev.Commit
	} else if at, _, err := k.source.Repo.At(ctx, commit); err == nil {
		tree = repo.Sub(at, k.source.Prefix)
	}
	if text, err := tree.ReadFile(file); err == nil {
		e.Line = diag.LineAt(text, line)
	}
	if commit == "" {
		return
	}
	if rev, _, err := k.source.Repo.Blame(ctx, commit, path.Join(k.source.Prefix, file), line); err == nil {
		e.Commit = &rev
	}
}

// has tells whether there is a repository with a commit.
func (k *known) has(ctx context.Context, commit string) bool {
	if k.source == nil || commit == "" {
		return false
	}
	_, err := k.source.Repo.Resolve(ctx, commit)
	return err == nil
}

// recordedLine fills in the records of an agent: the text of the line, and the commit of the
// part that has it. It returns false without such a record.
func (k *known) recordedLine(e *explanation, file string) bool {
	part, ok := k.status.State.Revision.PartOf(file)
	if !ok {
		return false
	}
	for _, st := range k.states {
		if st.Source == e.Source && holds(st.Addrs, e.Addr) {
			e.Line = st.Line
		}
	}
	e.Part = cmp.Or(part.Directory, ".")
	e.Commit = &repo.Revision{Commit: part.Commit, Subject: part.Subject, Author: part.Author, Time: part.Time,
		Branch: part.Branch}
	return true
}

// originText says what was there before fettle, without its content.
func originText(o *image.Image) string {
	if o == nil {
		return "found in sync, never changed"
	}
	return o.Summary()
}

func showExplanations(s *cli.Printer, items []explanation) {
	for i, e := range items {
		if i > 0 {
			s.Printf("\n")
		}
		s.Printf("%s\n", render.Escape(cmp.Or(e.Addr.String(), e.State)))
		s.Style().Pairs(s.App.Stdout, explanationPairs(s, e))
	}
}

func explanationPairs(s *cli.Printer, e explanation) []render.Pair {
	applied, wanted := e.Applied, e.Wanted
	switch {
	case applied == wanted && applied != "":
		wanted = ""
	case applied == "":
		applied = "not yet: fettle apply"
	case wanted == "":
		wanted = ""
	}
	source := e.Source
	if e.Line != "" {
		source += "\n" + strings.TrimSpace(e.Line)
	}
	pairs := []render.Pair{
		{Name: "  applied", Value: applied},
		{Name: "  wanted", Value: wanted},
		{Name: "  deferred", Value: e.Deferred},
		{Name: "  removed by", Value: e.By.String()},
		{Name: "  state", Value: e.State},
		{Name: "  source", Value: source},
	}
	for _, p := range e.Phases {
		pairs = append(pairs, render.Pair{Name: fmt.Sprintf("  phase %d", p.Phase),
			Value: p.State + "\n" + cmp.Or(p.Step, "(known after apply)")})
	}
	if c := e.Commit; c != nil {
		of := ""
		if e.Part != "" {
			of = "of " + cmp.Or(strings.TrimPrefix(e.Part, "."), "the root")
		}
		pairs = append(pairs, render.Pair{Name: "  commit", Value: cli.JoinWords(render.Style{}.Revision(*c), of)},
			render.Pair{Name: "  author", Value: c.Author})
	}
	if r := e.Run; r != nil {
		run := fmt.Sprintf("%d, %s at %s by %s", r.Run, r.Operation, s.Moment(r.Started), r.User)
		if e.First != r.Run && e.First > 0 {
			run += fmt.Sprintf("; managed since run %d", e.First)
		}
		pairs = append(pairs, render.Pair{Name: "  run", Value: run}, render.Pair{Name: "  before", Value: e.Origin})
	}
	return pairs
}

func explainVariable(ctx context.Context, s *cli.Session, name string) error {
	src, err := s.OpenSource(ctx, s.Rev)
	if err != nil {
		return err
	}
	defer src.Repo.Close()
	target, err := s.ChooseTarget(src)
	if err != nil {
		return err
	}
	in, err := s.Input(ctx, src.Tree, target)
	if err != nil {
		return err
	}
	found, ds := compile.Ask(s.App.Language.Queries, compile.VariablesQuery{Input: in, Name: name})
	if err := ds.Err(); err != nil {
		return err
	}
	vars := describeVariables(found)
	if s.JSON {
		return s.Document(ExplainDoc{Format: "fettle.explain/2", What: "var " + name, Variables: vars})
	}
	for i, v := range vars {
		if i > 0 {
			s.Printf("\n")
		}
		showVariable(s.Printer, v)
	}
	return nil
}

func describeVariables(found []eval.Explained) []cli.Variable {
	var out []cli.Variable
	for _, e := range found {
		v := cli.Variable{Module: e.Module, Name: e.Name, Type: e.Type, Value: e.Value, Source: cli.PlaceText(e.Range),
			Layers: []cli.Layer{}}
		for _, l := range e.Layers {
			v.Layers = append(v.Layers, cli.Layer{Name: l.Name, Value: l.Value, Merge: l.Merge, Source: cli.PlaceText(l.Range)})
		}
		out = append(out, v)
	}
	return out
}

func showVariable(s *cli.Printer, v cli.Variable) {
	value := v.Value
	if value == "" {
		value = "(no value)"
	}
	s.Printf("%s = %s\n", render.Escape(v.Name), render.Escape(value))
	pairs := []render.Pair{{Name: "  declared", Value: cli.JoinWords(v.Source, "("+v.Type+", "+v.Module+")")}}
	for i, l := range v.Layers {
		text := cli.JoinWords(l.Value, l.Source)
		if l.Merge != "" {
			text += "  (merged, " + l.Merge + ")"
		}
		if i == len(v.Layers)-1 && l.Merge == "" {
			text += "  (in force)"
		}
		pairs = append(pairs, render.Pair{Name: "  " + l.Name, Value: text})
	}
	s.Style().Pairs(s.App.Stdout, pairs)
}
