package fidelity

import (
	"fmt"
	"math/rand/v2"
	"path"
	"strconv"
	"strings"
)

// contents are what COPY steps bring.
var contents = []string{"", "one\n", "two\nlines\n", "x = 1\n", strings.Repeat("0123456789abcde\n", 10_000),
	strings.Repeat("\x00", 70<<10) + "end", "a\x00b"}

// lister writes a random list for a tree.
type lister struct {
	*rand.Rand
	b      strings.Builder
	things []*thing
	gone   map[string]bool // paths that are replaced or removed, with all below
	busy   map[string]bool // directories in which entries come or go, and edited files
	shared bool            // a step is about a file that has more names
}

func (l *lister) oneIn(n int) bool { return l.IntN(n) == 0 }

func (l *lister) line(format string, args ...any) {
	fmt.Fprintf(&l.b, format+"\n", args...)
}

// touch notes that an entry of the path's parent comes or goes.
func (l *lister) touch(p string) { l.busy[path.Dir(p)] = true }

// below tells whether a path lies in, or is, something that goes.
func (l *lister) below(p string) bool {
	for ; p != "/" && p != "."; p = path.Dir(p) {
		if l.gone[p] {
			return true
		}
	}
	return false
}

// list is for the things as they were planted.
func (l *lister) list() string {
	l.b.Reset()
	l.gone = map[string]bool{}
	for _, t := range l.things {
		up := path.Dir(t.path)
		if !l.below(t.path) && !l.stuck(up) && l.oneIn(2) {
			l.about(t)
		}
	}
	return l.b.String()
}

// stuck tells whether a directory is fixed, so that its entries stay.
func (l *lister) stuck(dir string) bool {
	for _, t := range l.things {
		if t.path == dir {
			return t.fixed
		}
	}
	return false
}

// about writes a step about one thing.
func (l *lister) about(t *thing) {
	q := strconv.Quote(t.path)
	if l.oneIn(4) || t.fixed {
		l.meta(t, q)
		return
	}
	if l.parts(t) {
		return
	}
	l.touch(t.path)
	switch k := l.IntN(10); {
	case t.kind == dir && k < 4:
		l.mkdir(t, q)
	case t.kind == dir:
		l.gone[t.path] = true
		l.line("RM %s", q)
	case t.text && !t.many && k < 3:
		l.busy[t.path] = true
		l.edit(q)
	case k < 7 && !t.many:
		l.gone[t.path] = true
		l.line("COPY %d %s%s", l.IntN(len(contents)), q, l.dress())
	case k == 7 && !t.many:
		l.gone[t.path] = true
		l.line("LINK %s %s", strconv.Quote(pick(l.Rand, "a0", "/nowhere", "../..", "\xff")), q)
	case k == 8 && !t.many && t.kind != link:
		l.gone[t.path] = true
		l.touch(t.path + "/in")
		l.line("MKDIR %s%s", q, l.dress())
		l.line("COPY %d %s", l.IntN(len(contents)), strconv.Quote(t.path+"/in"))
	case !t.many:
		l.gone[t.path] = true
		l.line("RM %s", q)
	}
}

// parts tells whether removing the thing would part names of one file.
func (l *lister) parts(t *thing) bool {
	for _, u := range l.things {
		if u.many && (u == t || strings.HasPrefix(u.path, t.path+"/")) && t.path != top {
			return true
		}
	}
	return false
}

func (l *lister) mkdir(t *thing, q string) {
	purge := ""
	if l.oneIn(3) {
		purge = " purge=true"
		l.busy[t.path] = true
		for _, u := range l.things {
			if path.Dir(u.path) == t.path {
				if u.fixed || l.parts(u) {
					purge = ""
				}
			}
		}
	}
	l.line("MKDIR %s%s%s", q, l.dress(), purge)
	if purge != "" {
		l.gone[t.path] = true
	}
	for i := range l.IntN(3) {
		p := t.path + "/new" + strconv.Itoa(i)
		l.touch(p)
		switch l.IntN(3) {
		case 0:
			l.touch(p + "/in")
			l.line("MKDIR %s%s", strconv.Quote(p), l.dress())
			l.line("COPY %d %s%s", l.IntN(len(contents)), strconv.Quote(p+"/in"), l.dress())
		case 1:
			l.line("LINK x %s", strconv.Quote(p))
		default:
			l.line("COPY %d %s%s", l.IntN(len(contents)), strconv.Quote(p), l.dress())
		}
	}
}

func (l *lister) meta(t *thing, q string) {
	if t.many && l.shared {
		return // two steps about one inode would undo each other's work
	}
	l.shared = l.shared || t.many
	s := l.dress()
	if t.kind != link && l.oneIn(3) {
		s += " acl=" + pick(l.Rand, "-", "u:1000:rw", "g:33:r-x,m::r", "u:0:rwx,o::-")
	}
	if t.fixed || l.oneIn(4) && (t.kind == file || t.kind == dir) {
		s += " attrs=" + pick(l.Rand, "-", "d", "A", "i", "a", "dA")
		if t.kind == dir { // what is in it shall stay as it is
			l.gone[t.path] = true
		}
	}
	if s == "" {
		s = " owner=0"
	}
	l.gone[t.path] = l.gone[t.path] || t.kind != dir
	l.line("META %s%s", q, s)
}

func (l *lister) dress() string {
	s := ""
	if l.oneIn(2) {
		s += pick(l.Rand, " owner=33", " owner=1000 group=33", " group=4242", " owner=0 group=0")
	}
	if l.oneIn(2) {
		s += pick(l.Rand, " mode=0600", " mode=0644", " mode=4755", " mode=2711", " mode=1777", " mode=0000", " mode=0755")
	}
	return s
}

func (l *lister) edit(q string) {
	switch l.IntN(3) {
	case 0:
		l.line("EDIT %s block=b content=%q", q, pick(l.Rand, "", "t1\n", "t1\nt2"))
	case 1:
		l.line("EDIT %s line=two match=^(one|two)", q)
	default:
		l.line("EDIT %s key=x value=%d", q, l.IntN(3))
	}
}
