package assign_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
)

var update = flag.Bool("update", false, "rewrite what the scripts give; review the difference like code")

// story runs a script. Its words are
//
//	target NAME [STANDING] [LABEL=VALUE…]   it is so in the registry from now on
//	forget NAME                             the registry loses it
//	push REF COMMIT top=X MODULE=CONTENT@LABEL=VALUE[+NEEDED…]   @* is for all
//	broken COMMIT WHY, lost REF WHY         a commit, or a ref, that cannot be read
//	pin NAME REF [module=FOLDER] [for=2d]   unpin NAME
//	freeze KEY NAME|* [for=2h] WHY, thaw KEY
//	approve MODULE|pins                     what the last tick was alarmed about
//	floor NAME EPOCH GENERATION, epoch N    what an agent has; a new store
//	tick DURATION                           time passes, and the hub computes
//	state, why NAME [FOLDER]                shows
type story struct {
	t     *testing.T
	w     world
	s     *assign.State
	rev   uint64
	now   int64
	last  assign.Output
	out   strings.Builder
	known map[string]fleet.Target
}

func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil || len(a.Files) == 0 {
				t.Fatal(err)
			}
			x := &story{t: t, w: world{commits: map[string]revision{}}, s: assign.NewState(1, "main"), now: 1_000_000,
				known: map[string]fleet.Target{}}
			for line := range strings.Lines(string(a.Files[0].Data)) {
				if words := strings.Fields(line); len(words) > 0 && words[0] != "#" {
					x.run(strings.TrimSpace(line), words)
				}
			}
			if *update {
				a.Files = []txtar.File{a.Files[0], {Name: "shown", Data: []byte(x.out.String())}}
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(a.Files) < 2 || string(a.Files[1].Data) != x.out.String() {
				t.Errorf("it shows\n%s", x.out.String())
			}
		})
	}
}

func (x *story) fold(e assign.Event) {
	x.rev++
	e.Rev = x.rev
	x.s.Fold(e)
}

func (x *story) run(line string, words []string) {
	arg := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	switch words[0] {
	case "target":
		x.target(words[1:])
	case "forget":
		x.fold(assign.Event{Kind: assign.TargetEvent, Key: string(idOf(arg(1)))})
	case "push":
		x.w.commits[commitOf(arg(2))] = parseModules(words[3:])
		x.fold(assign.Event{Kind: assign.RefEvent, Key: arg(1), Ref: &assign.Ref{Commit: commitOf(arg(2))}})
	case "broken":
		x.w.commits[commitOf(arg(1))] = revision{broken: strings.Join(words[2:], " ")}
	case "lost":
		x.fold(assign.Event{Kind: assign.RefEvent, Key: arg(1), Ref: &assign.Ref{Error: strings.Join(words[2:], " ")}})
	case "pin":
		x.pin(words[1:])
	case "unpin":
		x.fold(assign.Event{Kind: assign.PinEvent, Key: arg(1)})
	case "freeze":
		x.freeze(words[1:])
	case "thaw":
		x.fold(assign.Event{Kind: assign.FreezeEvent, Key: arg(1)})
	case "approve":
		x.approve(arg(1))
	case "floor":
		epoch, _ := strconv.ParseUint(arg(2), 10, 64)
		generation, _ := strconv.ParseUint(arg(3), 10, 64)
		x.fold(assign.Event{Kind: assign.MinimumGenerationEvent, Key: string(idOf(arg(1))),
			MinimumGeneration: &fleet.Have{Epoch: epoch, Generation: generation}})
	case "epoch":
		epoch, _ := strconv.ParseUint(arg(1), 10, 64)
		x.s.Begin(epoch)
	case "tick":
		x.tick(line, arg(1))
	case "state":
		x.state(line)
	case "why":
		fmt.Fprintf(&x.out, "> %s\n  %s\n", line, strings.Join(x.last.Why(idOf(arg(1)), arg(2)), "\n  "))
	default:
		x.t.Fatalf("unknown word in %q", line)
	}
}

func (x *story) target(words []string) {
	t := fleet.Target{ID: idOf(words[0]), Name: words[0], Standing: fleet.Active, Labels: map[string]string{}}
	for _, w := range words[1:] {
		if k, v, ok := strings.Cut(w, "="); !ok {
			t.Standing = fleet.Standing(w)
		} else if k == "called" {
			t.Name = v
		} else {
			t.Labels[k] = v
		}
	}
	x.fold(assign.Event{Kind: assign.TargetEvent, Key: string(t.ID), Target: &t})
}

func (x *story) pin(words []string) {
	p := assign.Pin{Key: words[0], Target: idOf(words[0]), Pin: fleet.Pin{Ref: words[1], By: "ann"}}
	for _, w := range words[2:] {
		k, v, _ := strings.Cut(w, "=")
		switch k {
		case "module":
			p.Module = v
		case "for":
			p.Until = x.now + x.seconds(v)
		case "key":
			p.Key = v
		}
	}
	x.fold(assign.Event{Kind: assign.PinEvent, Key: p.Key, Pin: &p})
}

func (x *story) freeze(words []string) {
	f := assign.Freeze{Key: words[0], By: "bob"}
	if words[1] != "*" {
		f.Targets = []fleet.TargetID{idOf(words[1])}
	}
	rest := words[2:]
	if v, ok := strings.CutPrefix(rest[0], "for="); ok {
		f.Until, rest = x.now+x.seconds(v), rest[1:]
	}
	f.Reason = strings.Join(rest, " ")
	x.fold(assign.Event{Kind: assign.FreezeEvent, Key: f.Key, Freeze: &f})
}

func (x *story) approve(what string) {
	for _, a := range x.last.Alarms {
		if a.Module == "modules/"+what || what == "pins" && a.Kind == assign.TooManyPinned {
			x.fold(assign.Event{Kind: assign.ApprovalEvent, Key: a.Digest,
				Approval: &assign.Approval{Digest: a.Digest, By: "ann", At: x.now}})
			return
		}
	}
	x.t.Fatalf("there is no alarm about %s to approve", what)
}

func (x *story) seconds(text string) int64 {
	d, err := time.ParseDuration(strings.Replace(text, "d", "h", 1))
	if err != nil {
		x.t.Fatal(err)
	}
	if strings.HasSuffix(text, "d") {
		d *= 24
	}
	return int64(d / time.Second)
}

func (x *story) tick(line, d string) {
	x.now += x.seconds(d)
	x.last = assign.Compute(x.w.input(x.s, x.now))
	x.s.ApplyOutput(x.last)
	fmt.Fprintf(&x.out, "> %s\n", line)
	for _, a := range x.last.Assignments {
		x.show(a)
	}
	for _, a := range x.last.Alarms {
		fmt.Fprintf(&x.out, "  ! %s %s (%d)\n", a.Kind, a.Text, a.Count)
	}
	if x.last.Next > 0 {
		fmt.Fprintf(&x.out, "  again in %s\n", time.Duration(x.last.Next-x.now)*time.Second)
	}
	if x.last.Epoch > 0 {
		fmt.Fprintf(&x.out, "  begin epoch %d\n", x.last.Epoch)
	}
}

func (x *story) state(line string) {
	fmt.Fprintf(&x.out, "> %s\n", line)
	var list []fleet.Assignment
	for _, a := range x.s.Input(x.now, nil).Previous {
		list = append(list, a)
	}
	slices.SortFunc(list, byName)
	for _, a := range list {
		x.show(a)
	}
}

// show prints an assignment, with the first names of commits.
func (x *story) show(a fleet.Assignment) {
	fmt.Fprintf(&x.out, "  %s %d.%d top=%s", a.Name, a.Epoch, a.Generation, x.revision(a.Root))
	for _, m := range a.Modules {
		fmt.Fprintf(&x.out, " %s=%s", strings.TrimPrefix(m.Module, "modules/"), x.revision(m))
		for _, n := range m.Needs {
			fmt.Fprintf(&x.out, "(%s)", strings.TrimPrefix(n.Module, "modules/"))
		}
	}
	if a.Frozen != "" {
		fmt.Fprintf(&x.out, " frozen: %s", a.Frozen)
	}
	if a.Withdrawn != "" {
		fmt.Fprintf(&x.out, " withdrawn: %s", a.Withdrawn)
	}
	x.out.WriteByte('\n')
}

func (x *story) revision(m fleet.Assigned) string {
	for i := range 10 {
		for _, letter := range "abcx" {
			if name := fmt.Sprintf("%c%d", letter, i); commitOf(name) == m.Revision.Commit {
				if m.Rollout != "" {
					name += "/" + m.Rollout
				}
				return name
			}
		}
	}
	return m.Revision.Commit
}
