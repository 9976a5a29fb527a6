package plan_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
	"fettle.dev/fettle/internal/verb/verbs"
)

var update = flag.Bool("update", false, "rewrite the plans in testdata; look at the difference as at code")

// accounts are those of the golden machine: root, www and ann.
type accounts struct{}

func (accounts) UID(n string) (uint32, error) {
	if id, ok := map[string]uint32{"root": 0, "www": 33, "ann": 1000}[n]; ok {
		return id, nil
	}
	return 0, &verb.UnknownNameError{What: "user", Name: n}
}

func (accounts) GID(n string) (uint32, error) {
	if id, ok := map[string]uint32{"root": 0, "www": 33, "ann": 1000}[n]; ok {
		return id, nil
	}
	return 0, &verb.UnknownNameError{What: "group", Name: n}
}

func (accounts) UserName(id uint32) string {
	return map[uint32]string{0: "root", 33: "www", 1000: "ann"}[id]
}
func (a accounts) GroupName(id uint32) string { return a.UserName(id) }

// rules are the real verbs.
type rules struct{ accounts }

func (r rules) Target(s step.Step, now image.Image) (image.Image, error) {
	v, _ := verbs.For(s.Verb)
	return v.Target(s, now, r.accounts)
}

func (r rules) Irreversible(s step.Step, from, to image.Image) string {
	v, _ := verbs.For(s.Verb)
	if r, ok := v.(verb.Reversible); ok {
		return r.Irreversible(s, from, to)
	}
	return ""
}

// TestPlans: each file of testdata has a case for each of its sections "wanted":
//
//	-- NAME/wanted --    the list
//	-- NAME/applied --   what is in force: STEP, blank, "|", blank, origin as JSON ("adopted" for none);
//	                     or an entry as JSON
//	-- NAME/acts --      ACT steps of the list in force
//	-- NAME/observed --  ADDRESS blank IMAGE as JSON
//	-- NAME/failed --    ADDRESS blank text
//	-- NAME/pending --   ADDRESS blank CAUSE; its step is the one of acts
//	-- NAME/goal --      as applied; a rollback to run 1
//	-- NAME/before --    as observed: what runs after the goal found
//	-- NAME/moved --     paths that runs after the goal changed
//	-- NAME/edited --    PATH blank plan.WholeFile as JSON
//	-- NAME/kept --      TREE blank its paths as JSON, []plan.TreeFile
//	-- NAME/foreign --   DIRECTORY blank the first path of others in it
//	-- NAME/links --     how many names of a file are removed
//	-- NAME/unreached -- paths of steps that the run did not reach
//	-- NAME/later --     steps of later phases
//	-- NAME/has --       ADDRESS: what the host has, for suggestions
//	-- NAME/missing --   ADDRESS: what the host has not, of what actions run
//	-- NAME/options --   report: drift is only reported. skip: what is blocked is left out. more: the
//	                     list goes on. to=N: the rollback goes to run N
//	-- NAME/plan --      the result
func TestPlans(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		parts := map[string]string{}
		var cases []string
		for _, f := range a.Files {
			name, part, _ := strings.Cut(f.Name, "/")
			if part == "wanted" {
				cases = append(cases, name)
			}
			parts[f.Name] = string(f.Data)
		}
		for _, name := range cases {
			t.Run(name, func(t *testing.T) {
				got := show(plan.Make(input(t, name, parts)))
				if got != parts[name+"/plan"] && !*update {
					t.Errorf("the plan is\n%swant\n%s", got, parts[name+"/plan"])
				}
				parts[name+"/plan"] = got
			})
		}
		if *update {
			for i, f := range a.Files {
				a.Files[i].Data = []byte(parts[f.Name])
			}
			if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func input(t *testing.T, name string, parts map[string]string) plan.Input {
	get := func(part string) string { return parts[name+"/"+part] }
	in := plan.Input{Operation: journal.OpApply, Desired: list(t, get("wanted")), AppliedList: list(t, get("acts")),
		Rules:  rules{},
		Repair: !strings.Contains(get("options"), "report"), Observed: images(t, get("observed")),
		Failed: map[addr.Addr]error{}}
	in.Applied.Run, in.Applied.Entries = 3, entries(t, get("applied"))
	in.Names = func(need addr.Addr) (out []string) {
		for a := range pairs(get("has")) {
			if has := addr.Addr(a); has.Kind() == need.Kind() {
				out = append(out, path.Base(has.Name()))
			}
		}
		return out
	}
	in.Missing = func(need addr.Addr) bool {
		_, missing := pairs(get("missing"))[string(need)]
		return missing
	}
	extra(t, &in, get)
	for a, text := range pairs(get("failed")) {
		in.Failed[addr.Addr(a)] = fmt.Errorf("%s", text)
	}
	for a, cause := range pairs(get("pending")) {
		p := journal.PendingAct{Addr: addr.Addr(a), Run: 2, Cause: []addr.Addr{addr.Addr(cause)}}
		for _, s := range in.AppliedList {
			if s.Addr() == p.Addr {
				p.Step = s.Stored()
			}
		}
		in.Applied.Pending = append(in.Applied.Pending, p)
	}
	if goal, ok := parts[name+"/goal"]; ok {
		in.Operation = journal.OpRollback
		in.Goal = &plan.Goal{To: 1, Entries: entries(t, goal), ImagesBefore: images(t, get("before")),
			FilesBefore: map[string]image.File{}, Moved: map[string]bool{}}
		if _, err := fmt.Sscanf(get("options"), "to=%d", &in.Goal.To); strings.HasPrefix(get("options"), "to=") &&
			err != nil {
			t.Fatal(err)
		}
		in.Goal.Edited = values[plan.WholeFile](t, get("edited"))
		for p := range pairs(get("moved")) {
			in.Goal.Moved[p] = true
		}
		for a, i := range in.Goal.ImagesBefore {
			if a.Kind() == addr.KindFile {
				in.Goal.FilesBefore[a.Path()] = *i.File()
				delete(in.Goal.ImagesBefore, a)
			}
		}
	}
	return in
}

// extra reads the sections that few cases have.
func extra(t *testing.T, in *plan.Input, get func(string) string) {
	options := strings.Fields(get("options"))
	in.SkipBlocked, in.MorePhases = slices.Contains(options, "skip"), slices.Contains(options, "more")
	in.ForeignPaths, in.Unreached = pairs(get("foreign")), slices.Sorted(maps.Keys(pairs(get("unreached"))))
	if text := get("kept"); text != "" {
		kept := values[[]plan.TreeFile](t, text)
		in.StoredTree = func(tree string) []plan.TreeFile { return slices.Clone(kept[tree]) }
	}
	if text := strings.TrimSpace(get("links")); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		in.Links = func(string, []string) uint64 { return n }
	}
	in.Later = map[addr.Addr][]step.Step{}
	for _, s := range list(t, get("later")) {
		in.Later[s.Addr()] = append(in.Later[s.Addr()], s)
	}
}

func list(t *testing.T, text string) step.List {
	l, ds := step.Parse("list", []byte(text))
	if err := ds.Err(); err != nil {
		t.Fatal(err)
	}
	for i := range l {
		l[i].Source = fmt.Sprintf("list:%d", i+1)
	}
	return l
}

// line returns the step of a line.
func line(text string) step.Step {
	s, err := step.ParseLine(text)
	if err != nil {
		panic(err)
	}
	return s
}

func entries(t *testing.T, text string) (out []journal.Entry) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "{") {
			var e journal.Entry
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			out = append(out, e)
			continue
		}
		words, origin, _ := strings.Cut(strings.TrimSpace(line), " | ")
		words, by, _ := strings.Cut(words, " by ")
		s := list(t, words+"\n")[0]
		e := journal.Entry{Addr: s.Addr(), Step: s.Stored(), Src: "old:1", Run: 1, PurgedBy: addr.Addr(by)}
		if origin != "adopted" {
			e.Origin = &image.Image{}
			if err := json.Unmarshal([]byte(origin), e.Origin); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
		out = append(out, e)
	}
	return out
}

func images(t *testing.T, text string) map[addr.Addr]image.Image {
	out := map[addr.Addr]image.Image{}
	for a, i := range values[image.Image](t, text) {
		out[addr.Addr(a)] = i
	}
	return out
}

// values reads lines "NAME blank JSON".
func values[T any](t *testing.T, text string) map[string]T {
	out := map[string]T{}
	for name, js := range pairs(text) {
		var v T
		if err := json.Unmarshal([]byte(js), &v); err != nil {
			t.Fatalf("%s: %v", js, err)
		}
		out[name] = v
	}
	return out
}

func pairs(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		a, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		out[a] = rest
	}
	return out
}

func show(p *plan.Plan, problems interface{ Err() error }) string {
	var b strings.Builder
	for _, c := range p.Changes {
		fmt.Fprintf(&b, "%s %s: %s\n", c.Action, c.Addr, c.Why)
		for _, d := range c.Differences {
			fmt.Fprintf(&b, "\t%s: %q, then %q\n", d.Field, d.Old, d.New)
		}
		for _, note := range []struct{ what, text string }{{"irreversible", c.Irreversible}, {"note", c.Note},
			{"by", string(c.PurgedBy)}} {
			if note.text != "" {
				fmt.Fprintf(&b, "\t%s: %s\n", note.what, note.text)
			}
		}
		for _, is := range []struct {
			what string
			yes  bool
		}{{"drifted", c.Drifted}, {"stale", c.Stale}, {"found", c.Captured}, {"whole", c.WholeFile != nil}} {
			if is.yes {
				fmt.Fprintf(&b, "\t%s\n", is.what)
			}
		}
		if c.Addr.Kind() == addr.KindExec && c.Action == plan.Remove {
			fmt.Fprintf(&b, "\tundoes: %s\n", c.Applied)
		}
		if c.Earlier != nil {
			then, _ := json.Marshal(c.Earlier)
			fmt.Fprintf(&b, "\tthen: %s\n", then)
		}
		if c.To == nil && c.Action.Mutates() && c.Addr.Kind() != addr.KindAct {
			b.WriteString("\tknown after apply\n")
		}
	}
	if p.Unchanged > 0 {
		fmt.Fprintf(&b, "%d unchanged\n", p.Unchanged)
	}
	if err := problems.Err(); err != nil {
		fmt.Fprintf(&b, "problems: %v\n", err)
	}
	return b.String()
}
