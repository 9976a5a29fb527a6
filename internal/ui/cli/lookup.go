package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/query"
	langsource "fettle.dev/fettle/internal/lang/source"
)

// lookupsDoc tells of the snapshots of a repository's lookups.
type lookupsDoc struct {
	Format  string      `json:"format"` // fettle.lookups/1
	Lookups []lookupDoc `json:"lookups"`
}

type lookupDoc struct {
	Name     string `json:"name"`
	Snapshot string `json:"snapshot"` // its file in the repository
	Source   string `json:"source"`   // the source of the lookup
	Declared string `json:"declared"` // file:line
	State    string `json:"state"`    // fresh, stale, missing, bad, failed, changed or unchanged
	Taken    int64  `json:"taken_ns,omitempty"`
	Error    string `json:"error,omitempty"`
	Diff     string `json:"diff,omitempty"` // of the value, unified
}

func newLookup(s *session) *cobra.Command {
	c := &cobra.Command{
		Use:   "lookup",
		Short: "Run the repository's lookups, and record the answers",
		Long: `Manages lookups: values from outside of the repository. A URL or a command
returns the value. It is stored in a snapshot in the repository, next to the
module that declares the lookup. Compiling reads only the snapshot; only these
commands fetch a new value.`,
		Args: args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	yes := false
	refresh := &cobra.Command{
		Use:   "refresh [NAME…]",
		Short: "Run lookups, and write changed snapshots",
		Long: `Runs all lookups, or the named lookups, and shows the changed values. Commands
run on this host with your rights. Therefore refresh first shows them and
asks for confirmation; --yes confirms. If a lookup fails, its old snapshot
stays, and the other snapshots are written. Review the difference and commit it.`,
		Example: "  fettle lookup refresh\n  fettle lookup refresh users --yes",
		Args:    args(0, -1),
		RunE:    func(c *cobra.Command, a []string) error { return refreshLookups(c.Context(), s, a, yes) },
	}
	yesFlag(refresh, &yes)
	status := &cobra.Command{
		Use:   "status [NAME…]",
		Short: "Show the age of the snapshots",
		Long: `Shows the age of the snapshots without running a lookup. Exits with 2 if a
snapshot is missing, cannot be used, or is older than the max_age of its lookup.`,
		Example: "  fettle lookup status\n  fettle lookup status --json",
		Args:    args(0, -1),
		RunE:    func(c *cobra.Command, a []string) error { return lookupStatus(c.Context(), s, a) },
	}
	c.AddCommand(refresh, status)
	return c
}

// lookups opens the files as they are and finds the lookups that are meant.
func lookups(ctx context.Context, s *session, names []string) (*source, []langsource.Lookup, error) {
	src, err := openWorkTree(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	all, ds := compile.Ask(s.app.Language.Queries, compile.LookupsQuery{About: src.about()})
	err = ds.Err()
	var out []langsource.Lookup
	for _, l := range all {
		if len(names) == 0 || slices.Contains(names, l.Name) || slices.Contains(names, l.Snapshot()) {
			out = append(out, l)
		}
	}
	for _, n := range names {
		if err == nil && !slices.ContainsFunc(out, func(l langsource.Lookup) bool {
			return l.Name == n ||
				l.Snapshot() == n
		}) {
			err = refuse("List them: fettle lookup status", fmt.Sprintf("the repository declares no lookup %q", n))
		}
	}
	if err != nil {
		_ = src.repo.Close()
		return nil, nil, err
	}
	return src, out, nil
}

// openWorkTree is openSource for commands that write into the repository.
func openWorkTree(ctx context.Context, s *session) (*source, error) {
	if s.rev != "" {
		return nil, refuse("Omit --rev, and commit the written files",
			"cannot write into a revision: this is about the files as they are")
	}
	return s.openSource(ctx, "")
}

// directory is where the files of a repository are.
func (src *source) directory() string { return path.Join(src.repo.Top(), src.prefix) }

func lookupStatus(ctx context.Context, s *session, names []string) error {
	src, list, err := lookups(ctx, s, names)
	if err != nil {
		return err
	}
	defer src.repo.Close()
	doc := lookupsDoc{Format: "fettle.lookups/1", Lookups: []lookupDoc{}}
	stale := false
	for _, l := range list {
		d := lookupState(s.printer, src, l)
		stale = stale || d.State != "fresh"
		doc.Lookups = append(doc.Lookups, d)
	}
	if s.json {
		err = s.document(doc)
	} else {
		showLookups(s.printer, doc.Lookups)
	}
	if err == nil && stale {
		return errChanges
	}
	return err
}

func describeLookup(l langsource.Lookup) lookupDoc {
	return lookupDoc{Name: l.Name, Snapshot: l.Snapshot(), Source: l.Source(), Declared: placeText(l.Range)}
}

func placeText(r diag.Range) string { return fmt.Sprintf("%s:%d", r.File, r.Start.Line) }

func lookupState(s *printer, src *source, l langsource.Lookup) lookupDoc {
	d := describeLookup(l)
	text, err := src.tree.ReadFile(l.Snapshot())
	if errors.Is(err, fs.ErrNotExist) {
		d.State = "missing"
		return d
	}
	var snap query.Snapshot
	if err == nil {
		snap, err = query.ParseSnapshot(text)
	}
	if err == nil && snap.Source != l.Source() {
		err = fmt.Errorf("it answers %s", snap.Source)
	}
	switch {
	case err != nil:
		d.State, d.Error = "bad", err.Error()
		return d
	case l.MaxAge > 0 && s.app.Now().Sub(snap.Taken) > l.MaxAge:
		d.State = "stale"
	default:
		d.State = "fresh"
	}
	d.Taken = snap.Taken.UnixNano()
	return d
}

func showLookups(s *printer, list []lookupDoc) {
	if len(list) == 0 {
		s.printf("The repository declares no lookups.\n")
		return
	}
	rows := [][]string{}
	for _, d := range list {
		age := ""
		if d.Taken != 0 {
			age = s.app.Now().Sub(time.Unix(0, d.Taken)).Round(time.Second).String()
		}
		rows = append(rows, []string{d.Name, strings.TrimSpace(d.State + " " + d.Error), age, d.Snapshot, d.Source})
	}
	s.style().Table(s.app.Stdout, []string{"LOOKUP", "STATE", "AGE", "FILE", "SOURCE"}, rows)
}

func refreshLookups(ctx context.Context, s *session, names []string, yes bool) error {
	src, list, err := lookups(ctx, s, names)
	if err != nil {
		return err
	}
	defer src.repo.Close()
	if err := confirmCommands(ctx, s, list, yes); err != nil {
		return err
	}
	doc := lookupsDoc{Format: "fettle.lookups/1", Lookups: []lookupDoc{}}
	var failed []string
	for _, l := range list {
		d := refreshLookup(ctx, s.printer, src, l)
		doc.Lookups = append(doc.Lookups, d)
		showRefreshed(s.printer, d)
		if d.State == "failed" {
			failed = append(failed, l.Name)
		}
	}
	if s.json {
		if err := s.document(doc); err != nil {
			return err
		}
	}
	if len(failed) > 0 {
		return reported(errors.New("cannot refresh " + strings.Join(failed, ", ")))
	}
	return nil
}

// confirmCommands shows what would run on this machine, and asks.
func confirmCommands(ctx context.Context, s *session, list []langsource.Lookup, yes bool) error {
	any := false
	for _, l := range list {
		if len(l.Command) > 0 {
			any = true
			s.printf("%s runs %s\n", l.Name, l.Source())
		}
	}
	if !any {
		return nil
	}
	return s.ask(ctx, yes, "Run these commands here?")
}

// refreshLookup asks for one and writes its snapshot when the value is another
// one, or when the time of the old one counts.
func refreshLookup(ctx context.Context, s *printer, src *source, l langsource.Lookup) lookupDoc {
	d := describeLookup(l)
	fail := func(err error) lookupDoc {
		d.State, d.Error = "failed", err.Error()
		return d
	}
	answer, err := s.app.Ask(ctx, l, src.directory())
	if err != nil {
		return fail(err)
	}
	now, err := query.NewSnapshot(l, answer, s.app.Now())
	if err != nil {
		return fail(err)
	}
	var was query.Snapshot
	if old, err := src.tree.ReadFile(l.Snapshot()); err == nil {
		was, _ = query.ParseSnapshot(old) // a damaged snapshot is written again
	}
	d.State, d.Taken = "unchanged", now.Taken.UnixNano()
	if was.Digest != now.Digest || was.Source != now.Source {
		d.State, d.Diff = "changed", valueDiff(l, was, now)
	} else if l.MaxAge == 0 {
		return d
	}
	text, err := now.Bytes()
	if err == nil {
		err = writeInto(src.directory(), l.Snapshot(), text)
	}
	if err != nil {
		return fail(err)
	}
	return d
}

// valueDiff is how two answers differ, line by line.
func valueDiff(l langsource.Lookup, was, now query.Snapshot) string {
	return udiff.Unified("a/"+l.Snapshot(), "b/"+l.Snapshot(), indented(was.Value), indented(now.Value))
}

func indented(value []byte) string {
	var b bytes.Buffer
	if len(value) == 0 || json.Indent(&b, value, "", "  ") != nil {
		return ""
	}
	return b.String() + "\n"
}

func showRefreshed(s *printer, d lookupDoc) {
	if s.json {
		return
	}
	if d.State == "failed" {
		s.errStyle().Error(s.app.Stderr, d.Name+": "+d.Error, "The previous snapshot is kept. Declared at "+d.Declared)
		return
	}
	s.printf("%s %s\n", d.Snapshot, d.State)
	if d.Diff != "" {
		s.style().Diff(s.app.Stdout, d.Diff, "  ", -1)
	}
}
