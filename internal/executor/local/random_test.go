package local_test

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// names are the entries that random trees and lists fight for: few, so that
// they meet, and odd.
var names = []string{"a", "b", "c d", "n\nl", "\xff\xfe", strings.Repeat("x", 255)}

var (
	modes  = []uint32{0o644, 0o600, 0o755, 0o4755, 0o2755, 0o1777, 0o000, 0o6711}
	owners = []uint32{0, 33, 1000, 4242}
)

// dice draws small choices.
type dice struct{ *rapid.T }

func (d dice) n(label string, n int) int { return rapid.IntRange(0, n-1).Draw(d.T, label) }

func (d dice) oneIn(label string, n int) bool { return d.n(label, n) == n-1 }

// tree makes random things below dir, behind the engine's back.
func (w *world) tree(d dice, dir string, depth int) {
	for _, name := range names[:3+d.n("names", len(names)-2)] {
		p := path.Join(dir, name)
		switch d.n("thing", 10) {
		case 0, 1, 2:
			w.write(p, contents[d.n("content", len(contents))])
		case 3, 4:
			w.must(w.aside.Mkdir(p, 0o755))
			if depth > 0 {
				w.tree(d, p, depth-1)
			}
		case 5:
			w.must(w.aside.Symlink([]string{"a", "/nowhere", "../b", "/etc/passwd"}[d.n("target", 4)], p))
		case 6:
			w.must(w.aside.Mknod(p, image.Fifo, 0o644, 0))
		default:
			continue
		}
		w.dress(d, p)
	}
}

// links makes a directory with hard links among each other, which lists take or
// leave as a whole.
func (w *world) links(dir string) {
	w.mkdirs(dir + "/deep")
	w.write(dir+"/one", "linked")
	w.must(errors.Join(w.aside.Link(dir+"/one", dir+"/two"), w.aside.Link(dir+"/one", dir+"/deep/three")))
}

// dress gives a path random metadata.
func (w *world) dress(d dice, p string) {
	if d.oneIn("plain", 2) {
		return
	}
	n, err := w.aside.OpenNode(p)
	w.must(err)
	st, err := n.Stat()
	w.must(err)
	w.must(n.Chown(owners[d.n("uid", len(owners))], owners[d.n("gid", len(owners))]))
	if st.Type != image.Symlink {
		w.must(n.Chmod(modes[d.n("mode", len(modes))]))
	}
	if st.Type == image.Regular || st.Type == image.Directory {
		w.xattrs(d, n)
	}
	t := int64(1_500_000_000_000_000_000) + int64(d.n("mtime", 1_000_000_000))
	w.must(errors.Join(n.SetTimes(t, t), n.Close()))
}

// acl is an access ACL as the kernel has it: user 33 may read.
var acl = []byte("\x02\x00\x00\x00\x01\x00\x06\x00\xff\xff\xff\xff\x02\x00\x04\x00\x21\x00\x00\x00\x04\x00\x04\x00\xff\xff\xff\xff\x10\x00\x04\x00\xff\xff\xff\xff\x20\x00\x04\x00\xff\xff\xff\xff")

// capability is cap_net_raw+ep as setcap writes it.
var capability = []byte("\x01\x00\x00\x02\x00\x20\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")

func (w *world) xattrs(d dice, n host.Node) {
	st, err := n.Stat()
	w.must(err)
	switch d.n("xattr", 5) {
	case 0:
		w.must(n.SetXattr("user.k", []byte("v"+strconv.Itoa(d.n("value", 3)))))
	case 1:
		w.must(errors.Join(n.Chmod(0o644), n.SetXattr("system.posix_acl_access", acl)))
	case 2:
		if st.Type == image.Regular {
			w.must(n.SetXattr("security.capability", capability))
		}
	}
}

// lister writes a random list.
type lister struct {
	dice
	b    strings.Builder
	seen snapshot // of the machine before the first run
	acts []string // addresses that actions listen to
	// accounts, packages, units and commands too: what only memory has.
	all bool
	// keep allows no purge, since nobody knows what a tree that comes back holds.
	keep bool
	// homes makes every list of a history create the home with its account: an
	// account that stays keeps the home that it has, whatever a run did before.
	homes bool
	// removes makes a history remove directories that others have filled, else
	// it uses them: a directory that is made anew does not say that others had
	// nothing in it, so going back to it leaves what they have.
	removes bool
}

func (l *lister) line(format string, args ...any) { fmt.Fprintf(&l.b, format+"\n", args...) }

func (l *lister) list() string {
	if l.all {
		l.accounts()
	}
	if l.oneIn("links", 6) {
		l.line("%s", []string{"RM /t/links", "COPY 1 /t/links/one"}[l.n("links step", 2)])
	}
	l.below("/t", 2)
	if l.all {
		l.rest()
	}
	return l.b.String()
}

func (l *lister) accounts() {
	if l.oneIn("group", 4) {
		l.line("GROUP g1%s", []string{"", " gid=1700"}[l.n("gid", 2)])
	}
	if l.oneIn("user", 4) {
		attrs := []string{"", " shell=/bin/zsh", " uid=1600"}
		if l.homes {
			attrs = []string{" create_home=true", " shell=/bin/zsh create_home=true"}
		}
		l.line("USER u1%s", attrs[l.n("user attrs", len(attrs))])
		if l.oneIn("u1 file", 2) {
			l.line("COPY 1 /home/u1.txt owner=u1")
		}
	}
	if l.oneIn("member", 4) {
		l.line("MEMBER ann www%s", []string{"", " ensure=absent"}[l.n("absent", 2)])
	}
}

func (l *lister) rest() {
	if l.oneIn("pkg", 4) {
		l.line("PKG p1%s", []string{"", " version=1", " version=2 held=true", " ensure=absent"}[l.n("version", 4)])
		if l.oneIn("pkg 2", 2) {
			l.line("PKG p2")
		}
	}
	if l.oneIn("unit", 4) {
		l.line("UNIT s1.service%s", []string{" enabled=true", " active=true", " masked=true", " enabled=true active=true",
			" enabled=false active=false"}[l.n("unit attrs", 5)])
	}
	if l.oneIn("exec", 5) {
		l.line(`EXEC e mark /m/x creates=/m/x undo="unmark /m/x"`)
	}
	if len(l.acts) > 0 && l.oneIn("act", 3) {
		l.line("ACT run told true on=%s", strconv.Quote(l.acts[l.n("on", len(l.acts))]))
	}
}

func (l *lister) meta() string {
	s := ""
	if l.oneIn("mode?", 2) {
		s += fmt.Sprintf(" mode=%04o", modes[l.n("mode", len(modes))])
	}
	if l.oneIn("owner?", 3) {
		s = []string{" owner=www", " owner=ann group=www", " group=4242"}[l.n("owner", 3)] + s
	}
	return s
}

func (l *lister) is(p, typ string) bool { return strings.HasPrefix(l.seen[p], typ+" ") }

// below writes steps for entries of a directory that will be there.
func (l *lister) below(dir string, depth int) {
	for _, name := range names[:2+l.n("names", len(names)-1)] {
		p := path.Join(dir, name)
		q := strconv.Quote(p)
		kind := l.n("step", 16)
		if filled := l.is(p, "dir"); filled && l.removes && (kind >= 4 && kind <= 6 || kind == 12) || filled &&
			!l.removes && kind == 8 {
			continue
		}
		switch kind {
		case 0, 1, 2, 3:
			l.line("COPY %d %s%s", l.n("content", len(contents)), q, l.meta())
		case 4, 5, 6:
			purge := []string{"", "", " purge=true"}[l.n("purge", 3)]
			if l.keep {
				purge = ""
			}
			l.line("MKDIR %s%s%s", q, l.meta(), purge)
			if depth > 0 {
				l.below(p, depth-1)
			}
		case 7:
			l.line("LINK %s %s", []string{"a", "/nowhere"}[l.n("target", 2)], q)
		case 8:
			l.line("RM %s", q)
		case 9:
			if l.seen[p] == "" || l.is(p, "link") {
				continue
			}
			l.line("META %s mode=%04o owner=www%s", q, modes[l.n("mode", len(modes))],
				[]string{"", " acl=u:ann:rw"}[l.n("acl", 2)])
			continue
		case 10, 11:
			l.edits(p, q)
			continue
		case 12:
			if l.is(p, "dir") && depth > 0 {
				keep := l.keep
				l.keep = true
				l.below(p, depth-1)
				l.keep = keep
			}
			continue
		default:
			continue
		}
		l.acts = append(l.acts, "file:"+p)
	}
}

func (l *lister) edits(p, q string) {
	create := ""
	if !l.is(p, "file") {
		if l.seen[p] != "" {
			return
		}
		create = " create=true"
	}
	if l.oneIn("block", 2) {
		l.line("EDIT %s block=b1 content=%q%s", q, []string{"", "t1\n", "t1\nt2"}[l.n("block text", 3)], create)
	}
	if l.oneIn("line", 2) {
		l.line("EDIT %s line=%s match=^two%s", q, []string{"two", "twofold"}[l.n("line text", 2)], create)
	}
	if l.oneIn("key", 2) {
		l.line("EDIT %s key=x value=%d%s", q, l.n("value", 3), create)
	}
	if l.oneIn("gone", 4) {
		l.line("EDIT %s line=one ensure=absent%s", q, create)
	}
}
