package histories

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fettle.dev/fettle/test/histories/judge"
)

// player plays a case, operation by operation, and asks the judge after each.
type player struct {
	*machine
	c       Case
	lists   []judge.List
	h       *judge.History
	tree    judge.Tree
	crashed *crash
	ended   int            // the number of the newest run that a recovery ended
	back    bool           // the operation before was a rollback
	saw     map[string]int // what was reached, for the count of a whole test
}

// crash is a run that was killed and that no run has settled yet.
type crash struct {
	before judge.Tree
	list   int
	number int // the newest run of the log before it
}

// verdict is what was wrong, by which rule, after which operation.
type verdict struct {
	rule, text string
	op         int
}

// play runs a case in a directory of its own. It returns nil if all is right.
func play(k kit, c Case, saw map[string]int) (*verdict, string) {
	dir, err := os.MkdirTemp(k.dir, "round-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	m, err := newMachine(k, c, dir)
	if err != nil {
		panic(err)
	}
	p := &player{machine: m, c: c, saw: saw}
	for _, l := range c.Lists {
		parsed, err := judge.Parse(strings.Join(l, "\n"))
		if err != nil {
			panic(err)
		}
		p.lists = append(p.lists, parsed)
	}
	p.tree = m.look()
	p.h = judge.Begin(p.tree, contents())
	for i, op := range append(slices.Clone(c.Ops), "settle") {
		fmt.Fprintf(m.noise, "# %s\n", op)
		if v := p.do(strings.Fields(op)); v != nil {
			v.op = i
			return v, m.noise.String()
		}
	}
	return nil, m.noise.String()
}

func wrong(rule string, why []string) *verdict {
	if len(why) == 0 {
		return nil
	}
	return &verdict{rule: rule, text: strings.Join(why, "\n")}
}

func first(vs ...*verdict) *verdict {
	for _, v := range vs {
		if v != nil {
			return v
		}
	}
	return nil
}

func (p *player) do(words []string) *verdict {
	defer func() { p.back = words[0] == "rollback" }()
	switch words[0] {
	case "apply":
		return p.apply(words[1:])
	case "rollback":
		return first(p.settle(), p.rollback(words[1]))
	case "plan":
		return first(p.settle(), p.plan(words[1]))
	case "drift":
		return first(p.settle(), p.drift())
	case "gc":
		return first(p.settle(), p.gc(words[1]))
	case "settle", "recover":
		return p.settle()
	}
	if v := p.settle(); v != nil {
		return v
	}
	if l := p.h.Last().List; len(words) > 1 && l.Purges(words[1]) {
		p.saw["edit by hand in a purged tree"]++
	}
	if err := p.hand(words); err != nil {
		return &verdict{rule: "the script", text: err.Error()}
	}
	after := p.look()
	if len(judge.Differ(p.tree, after)) > 0 {
		p.saw["hand "+words[0]]++
	}
	p.h.ByHand(p.tree, after)
	p.tree = after
	return nil
}

// number gives the list that a word names, 0 if there is none.
func (p *player) number(word string) int {
	n, err := strconv.Atoi(word)
	if err != nil || n < 1 || n > len(p.lists) {
		return 0
	}
	return n
}

// apply is "apply LIST [undo] [fail NAME] [kill NAME] [killed-at N]".
func (p *player) apply(words []string) *verdict {
	n := p.number(words[0])
	if n == 0 {
		return nil
	}
	args, killAt := []string{"steps", "apply", "--yes", p.list(n)}, 0
	var told []string
	for i := 1; i < len(words); i++ {
		switch words[i] {
		case "undo":
			args = append(args, "--on-failure", "undo")
			continue
		case "killed-at":
			killAt, _ = strconv.Atoi(words[i+1])
		default:
			p.ctl(words[i+1], words[i])
			told = append(told, words[i+1])
		}
		i++
	}
	if p.crashed != nil && (killAt > 0 || p.complete()) {
		if v := p.settle(); v != nil {
			return v
		}
	}
	before, made := p.tree, p.made()
	p.ran()
	r := p.fettle(killAt, args...)
	ran := p.ran()
	for _, name := range told {
		p.ctl(name, "")
	}
	p.tree = p.look()
	if r.killed {
		p.saw["killed"]++
		p.h.ActsAfter(nil, nil, false)
		p.h.Killed(p.lists[n-1], ran)
		if p.crashed == nil {
			p.crashed = &crash{before: before, number: max(p.h.Last().Number, p.ended)}
		}
		p.crashed.list = n
		return nil
	}
	if p.crashed != nil { // the same process recovered, and may have run actions again
		before, p.crashed = p.crashed.before, nil
		p.h.ActsAfter(nil, nil, false)
	} else if v := p.commands(n, r, made, before, ran, intersect(ran, told)); v != nil {
		return v
	}
	return p.applied(n, r, before, ran, told, slices.Contains(words, "undo"))
}

// commands judges actions, and commands that create something or have an undo.
func (p *player) commands(n int, r report, made map[string]bool, before judge.Tree, ran, failed []string) *verdict {
	if r.Run == 0 && r.Exit != 0 {
		return nil // refused
	}
	list := p.lists[n-1]
	defer func() { p.h.ActsAfter(list, failed, r.Exit == 0) }()
	switch r.Exit {
	case 0:
		for _, name := range []string{"a1", "a2"} {
			if slices.Contains(ran, name) {
				p.saw["action "+name]++
			}
		}
		return first(wrong("actions", p.h.Actions(list, before, p.tree, ran)),
			wrong("creates", judge.Making(list, made, ran)))
	case 6:
		if now := p.made(); !maps.Equal(now, made) {
			return &verdict{rule: "an undone run undoes commands", text: fmt.Sprint(made, " became ", now)}
		}
	}
	return nil
}

// applied judges an apply that ended by itself.
func (p *player) applied(n int, r report, before judge.Tree, ran, told []string, undo bool) *verdict {
	list := p.lists[n-1]
	failed := intersect(ran, told)
	run := judge.Run{Number: r.Run, Before: before, After: p.tree, List: list, Plan: r.Changes}
	switch {
	case r.Run == 0 && r.Exit == 0: // nothing to do
		defer p.h.Settled(list)
		p.saw["apply nothing"]++
		return first(wrong("an apply that had nothing to do", judge.Same("apply", before, p.tree)), p.holds(list),
			wrong("commands", p.h.Commands(list, ran, false)))
	case r.Run == 0:
		p.saw["apply refused"]++
		return wrong("a refusal changes nothing", judge.Same("refused", before, p.tree))
	case r.Exit == 6:
		p.saw["apply undone"]++
		run.Done, run.List = p.h.Last().Done, p.h.Last().List
		defer p.h.Add(run)
		return wrong("an undone run", judge.Undone("undone", p.lists, before, p.tree))
	case r.Exit == 1:
		p.saw["apply failed"]++
		run.Done = p.h.After(list, ran, failed, true, undo)
		run.List, run.Tried = p.h.Reached(list, p.tree), list
		defer p.h.Add(run)
		blocked := slices.ContainsFunc(r.Changes, func(c judge.Change) bool { return c.Action == "blocked" })
		if blocked {
			p.saw["apply blocked"]++
		}
		return first(p.stoppedFor(r, failed, blocked), p.common(list, before),
			wrong("commands", p.h.Commands(list, ran, !blocked || r.Failed.Addr != "")))
	}
	p.saw["apply ok"]++
	p.planned(r.Changes)
	run.Done = p.h.After(list, ran, failed, false, false)
	defer p.h.Add(run)
	return first(p.holds(list), p.common(list, before),
		wrong("the plan is true", judge.Planned(r.Changes, before, p.tree)),
		wrong("commands", p.h.Commands(list, ran, false)), p.empty(n))
}

// stoppedFor accepts a failed run only for a command that was told to fail, for an
// address that the plan called blocked, and for one that a command or a link did not provide.
func (p *player) stoppedFor(r report, failed []string, blocked bool) *verdict {
	_, at, _ := strings.Cut(r.Failed.Addr, ":")
	at, _, _ = strings.Cut(at, "#")
	hoped := slices.ContainsFunc(r.Changes, func(c judge.Change) bool {
		return c.Addr == r.Failed.Addr && (c.Hopes() || c.Unsure() && p.tree.BehindLink(at))
	})
	if len(failed) > 0 || blocked || hoped || p.tree[at].Links != "" { // a directory may go that has the other name
		return nil
	}
	return &verdict{rule: "a run fails halfway", text: r.Error + " " + r.Failed.Addr}
}

func intersect(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(x string) bool { return !slices.Contains(b, x) })
}

func (p *player) holds(l judge.List) *verdict {
	return wrong("what is declared holds", judge.Holds(l, p.h.Blobs, p.tree))
}

// common is what holds after any run that changed something.
func (p *player) common(l judge.List, before judge.Tree) *verdict {
	p.note(before)
	return first(wrong("files of others", p.h.Strangers(l, before, p.tree)), p.kept(before))
}

// note counts what a run came to.
func (p *player) note(before judge.Tree) {
	for at, l := range before {
		if up := before[path.Dir(at)]; p.tree[at].Type == 0 && up.Type == 'd' && p.tree[path.Dir(at)].Type == 0 &&
			l.Type != 0 {
			p.saw["removes a tree"]++
			return
		}
	}
}

// planned counts what plans do.
func (p *player) planned(changes []judge.Change) {
	for _, c := range changes {
		p.saw[c.Action+"s"]++
	}
}

// empty asks for a plan right after an apply: there must be nothing left to do.
func (p *player) empty(n int) *verdict {
	r := p.fettle(0, "steps", "plan", p.list(n))
	guard := slices.ContainsFunc(r.Changes, func(c judge.Change) bool { return p.lists[n-1].Guarded(c.Addr) })
	guarded := func(c judge.Change) bool {
		return p.lists[n-1].Guarded(c.Addr) || guard && strings.HasPrefix(c.Addr, "act:") // which it may notify
	}
	if r.Exit == 0 || r.Exit == 2 && !slices.ContainsFunc(r.Changes,
		func(c judge.Change) bool { return !guarded(c) && !c.Unsure() }) {
		return nil
	}
	return &verdict{rule: "a second apply has nothing to do", text: fmt.Sprint(r.Changes, r.text)}
}

// kept looks whether the record has what others wrote and the run took away.
func (p *player) kept(before judge.Tree) *verdict {
	var why []string
	for at, data := range p.h.Lost(before, p.tree) {
		sum := sha256.Sum256([]byte(data))
		name := hex.EncodeToString(sum[:])
		if _, err := os.Stat(filepath.Join(p.state(), "objects", name[:2], name[2:])); err != nil {
			why = append(why, fmt.Sprintf("%s had %q, which is nowhere now", at, data))
		}
	}
	return wrong("content of others is kept", why)
}

func (p *player) plan(word string) *verdict {
	n := p.number(word)
	if n == 0 {
		return nil
	}
	r := p.fettle(0, "steps", "plan", p.list(n))
	p.saw["plan"]++
	return first(p.unchanged("plan"), p.exits(r, 0, 1, 2))
}

func (p *player) drift() *verdict {
	r := p.fettle(0, "drift")
	p.saw["drift"]++
	return first(p.unchanged("drift"), p.exits(r, 0, 2))
}

func (p *player) gc(keep string) *verdict {
	r := p.fettle(0, "gc", "--yes", "--keep-runs", keep, "--keep-within", "0s")
	p.saw["gc"]++
	return first(p.unchanged("gc"), p.exits(r, 0))
}

func (p *player) unchanged(what string) *verdict {
	now := p.look()
	v := wrong(what+" changes nothing", judge.Same(what, p.tree, now))
	p.tree = now
	return v
}

func (p *player) exits(r report, codes ...int) *verdict {
	if slices.Contains(codes, r.Exit) {
		return nil
	}
	return &verdict{rule: "exit code", text: fmt.Sprintf("%d: %s", r.Exit, r.text)}
}
