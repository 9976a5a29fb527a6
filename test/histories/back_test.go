package histories

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"fettle.dev/fettle/test/histories/judge"
)

// rollback is "rollback origin" or "rollback K": to the run before the newest K ones.
func (p *player) rollback(word string) *verdict {
	to, ok := p.goal(word)
	if !ok {
		return nil
	}
	before := p.tree
	p.ran()
	r := p.fettle(0, "rollback", strconv.Itoa(to), "--yes", "--cross-irreversible")
	p.tree = p.look()
	if r.Run > 0 {
		p.h.ActsBack(to, p.ran())
	}
	if r.Exit == 0 && r.Run == 0 {
		return first(wrong("a rollback that had nothing to do", judge.Same("rollback", before, p.tree)),
			wrong("rollback", p.h.Restored(to, before, p.tree)))
	}
	if r.Run == 0 {
		p.saw["rollback refused"]++
		return first(wrong("a refusal changes nothing", judge.Same("refused", before, p.tree)), p.skipping(to, r))
	}
	if p.back {
		p.saw["rollback after a rollback"]++
	}
	p.saw["rollback "+map[bool]string{true: "origin", false: "run"}[to == 0]]++
	run := judge.Run{Number: r.Run, Before: before, After: p.tree, Done: p.h.Back(to), List: p.h.ListAt(to),
		Plan: r.Changes}
	defer func() { p.h.Add(run) }()
	if r.Exit != 0 {
		return &verdict{rule: "a rollback fails halfway", text: r.Error + r.text}
	}
	return first(wrong("rollback", p.h.Restored(to, before, p.tree)), p.unmade(to), p.common(nil, before),
		wrong("the plan of a rollback is true", judge.Planned(r.Changes, before, p.tree)))
}

// unmade looks whether the way back to the origin undid every command that has an undo.
func (p *player) unmade(to int) *verdict {
	if now := p.made(); to == 0 && (now["m1"] || now["m2"]) {
		return &verdict{rule: "a rollback to the origin undoes commands", text: fmt.Sprint("what exists still: ", now)}
	}
	return nil
}

// skipping goes back again where a rollback was refused: that is right only because of
// what others did, and then everything else can go back.
func (p *player) skipping(to int, was report) *verdict {
	if !p.h.TouchedByOthers() {
		return &verdict{rule: "a rollback is refused", text: was.text + was.Error}
	}
	before := p.tree
	r := p.fettle(0, "rollback", strconv.Itoa(to), "--yes", "--cross-irreversible", "--skip-blocked")
	p.tree = p.look()
	if r.Run == 0 && len(r.Changes) > 0 { // everything is blocked
		return wrong("a refusal changes nothing", judge.Same("refused", before, p.tree))
	}
	if r.Run == 0 {
		return first(wrong("a refusal changes nothing", judge.Same("refused", before, p.tree)),
			&verdict{rule: "a rollback that skips is refused", text: was.text + r.text})
	}
	p.saw["rollback skipping"]++
	p.h.ActsBack(to, p.ran())
	list := append(slices.Clone(p.h.ListAt(to)), p.h.Last().List.BlockedBy(r.Changes)...)
	p.h.Add(judge.Run{Number: r.Run, Before: before, After: p.tree, Done: p.h.Back(to), List: list, Plan: r.Changes})
	return p.common(nil, before)
}

func (p *player) goal(word string) (int, bool) {
	if word == "origin" {
		return 0, len(p.h.Runs) > 0
	}
	k, err := strconv.Atoi(word)
	if err != nil {
		return 0, false
	}
	numbers := p.h.Numbers()
	if k >= len(numbers) {
		return 0, false
	}
	n := numbers[len(numbers)-1-k]
	_, err = os.Stat(filepath.Join(p.state(), fmt.Sprintf("journal/%06d.wal", n)))
	return n, err == nil && n > 0
}
