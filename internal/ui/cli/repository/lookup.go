package repository

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/lang/query"
	langsource "fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/workspace"
)

// LookupsDoc tells of the snapshots of a repository's lookups.
type LookupsDoc struct {
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

// NewLookup builds the command lookup, to run the repository's lookups, and record the answers.
func NewLookup(s *cli.Session) *cobra.Command {
	c := &cobra.Command{
		Use:   "lookup",
		Short: "Run the repository's lookups, and record the answers",
		Long: `Manages lookups: values from outside of the repository. A URL or a command
returns the value. It is stored in a snapshot in the repository, next to the
module that declares the lookup. Compiling reads only the snapshot; only these
commands fetch a new value.`,
		Args: cli.Args(0, 0),
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
		Args:    cli.Args(0, -1),
		RunE:    func(c *cobra.Command, a []string) error { return refreshLookups(c.Context(), s, a, yes) },
	}
	cli.YesFlag(refresh, &yes)
	status := &cobra.Command{
		Use:   "status [NAME…]",
		Short: "Show the age of the snapshots",
		Long: `Shows the age of the snapshots without running a lookup. Exits with 2 if a
snapshot is missing, cannot be used, or is older than the max_age of its lookup.`,
		Example: "  fettle lookup status\n  fettle lookup status --json",
		Args:    cli.Args(0, -1),
		RunE:    func(c *cobra.Command, a []string) error { return lookupStatus(c.Context(), s, a) },
	}
	c.AddCommand(refresh, status)
	return c
}

// lookups opens the files as they are and finds the lookups that are meant.
func lookups(ctx context.Context, s *cli.Session, names []string) (*workspace.Source, []langsource.Lookup, error) {
	src, err := openWorkTree(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	all, ds := compile.Ask(s.App.Language.Queries, compile.LookupsQuery{About: src.About()})
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
			err = cli.Refuse("List them: fettle lookup status", fmt.Sprintf("the repository declares no lookup %q", n))
		}
	}
	if err != nil {
		_ = src.Repo.Close()
		return nil, nil, err
	}
	return src, out, nil
}

// openWorkTree is openSource for commands that write into the repository.
func openWorkTree(ctx context.Context, s *cli.Session) (*workspace.Source, error) {
	if s.Rev != "" {
		return nil, cli.Refuse("Omit --rev, and commit the written files",
			"cannot write into a revision: this is about the files as they are")
	}
	return s.OpenSource(ctx, "")
}

func lookupStatus(ctx context.Context, s *cli.Session, names []string) error {
	src, list, err := lookups(ctx, s, names)
	if err != nil {
		return err
	}
	defer src.Repo.Close()
	doc := LookupsDoc{Format: "fettle.lookups/1", Lookups: []lookupDoc{}}
	stale := false
	for _, l := range list {
		d := lookupState(s.Printer, src, l)
		stale = stale || d.State != "fresh"
		doc.Lookups = append(doc.Lookups, d)
	}
	if s.JSON {
		err = s.Document(doc)
	} else {
		showLookups(s.Printer, doc.Lookups)
	}
	if err == nil && stale {
		return cli.ErrChanges
	}
	return err
}

func describeLookup(l langsource.Lookup) lookupDoc {
	return lookupDoc{Name: l.Name, Snapshot: l.Snapshot(), Source: l.Source(), Declared: cli.PlaceText(l.Range)}
}

func lookupState(s *cli.Printer, src *workspace.Source, l langsource.Lookup) lookupDoc {
	d := describeLookup(l)
	text, err := src.Tree.ReadFile(l.Snapshot())
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
	case l.MaxAge > 0 && s.App.Now().Sub(snap.Taken) > l.MaxAge:
		d.State = "stale"
	default:
		d.State = "fresh"
	}
	d.Taken = snap.Taken.UnixNano()
	return d
}

func showLookups(s *cli.Printer, list []lookupDoc) {
	if len(list) == 0 {
		s.Printf("The repository declares no lookups.\n")
		return
	}
	rows := [][]string{}
	for _, d := range list {
		age := ""
		if d.Taken != 0 {
			age = s.App.Now().Sub(time.Unix(0, d.Taken)).Round(time.Second).String()
		}
		rows = append(rows, []string{d.Name, strings.TrimSpace(d.State + " " + d.Error), age, d.Snapshot, d.Source})
	}
	s.Style().Table(s.App.Stdout, []string{"LOOKUP", "STATE", "AGE", "FILE", "SOURCE"}, rows)
}

func refreshLookups(ctx context.Context, s *cli.Session, names []string, yes bool) error {
	src, list, err := lookups(ctx, s, names)
	if err != nil {
		return err
	}
	defer src.Repo.Close()
	if err := confirmCommands(ctx, s, list, yes); err != nil {
		return err
	}
	doc := LookupsDoc{Format: "fettle.lookups/1", Lookups: []lookupDoc{}}
	var failed []string
	for _, l := range list {
		d := refreshLookup(ctx, s.Printer, src, l)
		doc.Lookups = append(doc.Lookups, d)
		showRefreshed(s.Printer, d)
		if d.State == "failed" {
			failed = append(failed, l.Name)
		}
	}
	if s.JSON {
		if err := s.Document(doc); err != nil {
			return err
		}
	}
	if len(failed) > 0 {
		return cli.Reported(errors.New("cannot refresh " + strings.Join(failed, ", ")))
	}
	return nil
}

// confirmCommands shows what would run on this machine, and asks.
func confirmCommands(ctx context.Context, s *cli.Session, list []langsource.Lookup, yes bool) error {
	any := false
	for _, l := range list {
		if len(l.Command) > 0 {
			any = true
			s.Printf("%s runs %s\n", l.Name, l.Source())
		}
	}
	if !any {
		return nil
	}
	return s.Ask(ctx, yes, "Run these commands here?")
}

// refreshLookup asks for one and writes its snapshot when the value is another
// one, or when the time of the old one counts.
func refreshLookup(ctx context.Context, s *cli.Printer, src *workspace.Source, l langsource.Lookup) lookupDoc {
	d := describeLookup(l)
	fail := func(err error) lookupDoc {
		d.State, d.Error = "failed", err.Error()
		return d
	}
	answer, err := s.App.Programs.Ask(ctx, l, src.Directory())
	if err != nil {
		return fail(err)
	}
	now, err := query.NewSnapshot(l, answer, s.App.Now())
	if err != nil {
		return fail(err)
	}
	var was query.Snapshot
	if old, err := src.Tree.ReadFile(l.Snapshot()); err == nil {
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
		err = cli.WriteInto(src.Directory(), l.Snapshot(), text)
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

func showRefreshed(s *cli.Printer, d lookupDoc) {
	if s.JSON {
		return
	}
	if d.State == "failed" {
		s.ErrStyle().Error(s.App.Stderr, d.Name+": "+d.Error, "The previous snapshot is kept. Declared at "+d.Declared)
		return
	}
	s.Printf("%s %s\n", d.Snapshot, d.State)
	if d.Diff != "" {
		s.Style().Diff(s.App.Stdout, d.Diff, "  ", -1)
	}
}
