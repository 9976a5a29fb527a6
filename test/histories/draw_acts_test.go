package histories

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"fettle.dev/fettle/test/histories/judge"
)

// acting adds notified actions to the lists of a case, and commands with an undo. It has
// dice of its own, so that the rest of the case is the same without them.
func acting(c Case, seed, round uint64) Case {
	d := dice{rand.New(rand.NewPCG(seed+1<<40, round))}
	if d.often(40) {
		return c
	}
	for _, name := range []string{"m1", "m2"} {
		if d.often(40) {
			c = undoable(c, name)
		}
	}
	for i, l := range c.Lists {
		c.Lists[i] = append(l, d.actions(l)...)
	}
	for i, op := range c.Ops {
		if strings.Contains(op, "fail m") && d.often(40) {
			c.Ops[i] = strings.NewReplacer("fail m1", "fail a1", "fail m2", "fail a2").Replace(op)
		}
	}
	return c
}

// undoable has a command create a file, with an undo that removes it.
func undoable(c Case, name string) Case {
	for _, l := range c.Lists {
		for k, line := range l {
			if strings.HasPrefix(line, "EXEC "+name+" ") && !strings.Contains(line, "=") {
				l[k] = fmt.Sprintf(`EXEC %s /h make %s creates=/ctl/made.%s undo="/h undo %s"`, name, name, name, name)
			}
		}
	}
	return c
}

// actions draws an action that what the list has notifies, and one that it notifies itself.
func (d dice) actions(lines []string) []string {
	list, err := judge.Parse(strings.Join(lines, "\n"))
	if err != nil {
		panic(err)
	}
	var from []string
	for _, s := range list {
		switch s.Verb {
		case "COPY", "LINK", "MKDIR":
			from = append(from, "file:"+s.Path())
		case "EXEC":
			from = append(from, "exec:"+s.Args[0])
		}
	}
	if len(from) == 0 || d.often(15) {
		return nil
	}
	one, other := d.of(from...), d.of(from...)
	a1, a2 := "ACT run a1 /h run a1 on="+one, "ACT run a2 /h run a2 on=act:run/a1"
	if other != one && d.often(50) {
		a1 += " on=" + other
	} else if other != one && d.often(50) {
		a2 += " on=" + other
	}
	if d.often(30) {
		return []string{a1}
	}
	return []string{a1, a2}
}
