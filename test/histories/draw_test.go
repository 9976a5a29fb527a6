package histories

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
)

// dice draws a case. The same seed draws the same one.
type dice struct{ *rand.Rand }

func (d dice) of(words ...string) string { return words[d.IntN(len(words))] }

// often tells yes so many times in a hundred.
func (d dice) often(percent int) bool { return d.IntN(100) < percent }

// places are all paths that lists and others fight for: few, so that they meet. A
// directory is before what is in it.
func places() []string {
	return []string{
		"/srv/t", "/srv/t/f", "/srv/t/g", "/srv/t/d", "/srv/t/d/f", "/srv/t/d/g", "/srv/t/d/e", "/srv/t/d/e/f",
		"/srv/u", "/srv/u/f", "/srv/x", "/etc/a.conf", "/etc/b.ini", "/etc/c.json",
	}
}

// holds tells whether something is in a place.
func holds(p string) bool {
	return slices.ContainsFunc(places(), func(q string) bool { return path.Dir(q) == p })
}

// content draws what suits a file: its name, among what lists write or what others write.
func (d dice) content(p, whose string) string {
	suits := map[string]string{"c.conf": "c2 c3 c0", "c.ini": "i0 i1", "c.json": "j0 j1", "c": "c0 c1 c2 e0",
		"h.conf": "h1 h0 h4", "h.ini": "h2", "h.json": "h3", "h": "h0 h1 h4"}
	return d.of(strings.Fields(suits[whose+path.Ext(p)])...)
}

func (d dice) mode() string  { return d.of("0644", "0600", "0755", "0700", "0640") }
func (d dice) owner() string { return d.of("0", "1", "33") }

// draw draws a case.
func draw(seed, round uint64) Case {
	d := dice{rand.New(rand.NewPCG(seed, round))}
	var c Case
	c.Host = d.host()
	said := map[string]string{}
	for range 2 + d.IntN(4) {
		said = d.said(said)
		c.Lists = append(c.Lists, d.list(said))
	}
	c.Ops = d.ops(len(c.Lists))
	return acting(c, seed, round)
}

// host draws what is there before.
func (d dice) host() []string {
	var out []string
	for _, p := range places() {
		likely := 60
		if strings.HasPrefix(p, "/etc") {
			likely = 85
		}
		if !d.often(likely) {
			continue
		}
		switch {
		case holds(p) && d.often(85):
			out = append(out, fmt.Sprintf("dir %s %s %s", p, d.of("0755", "0755", "0700"), d.owner()))
		case d.often(10):
			out = append(out, fmt.Sprintf("link %s %s", p, d.of("f", "../x", "/etc/a.conf", "nowhere")))
		default:
			out = append(out, fmt.Sprintf("file %s %s %s %s", p, d.content(p, d.of("c", "h")), d.of("0644", "0644", d.mode()),
				d.owner()))
		}
		if d.often(5) {
			out = append(out, fmt.Sprintf("xattr %s v%d", p, d.IntN(3)))
		}
	}
	if d.often(4) {
		out = append(out, fmt.Sprintf("hard %s /srv/t/h", d.of("/srv/t/f", "/etc/a.conf")))
	}
	return out
}

// said draws what a list says of each place: steps with PATH for the place, in one text.
// Most of it is what the list before says.
func (d dice) said(before map[string]string) map[string]string {
	out := map[string]string{}
	for _, p := range append(places(), "m1", "m2") {
		word := before[p]
		if len(before) == 0 || d.often(35) {
			word = d.word(p)
		}
		if d.fits(p, word, out) {
			out[p] = word
		}
	}
	return out
}

// fits tells whether a list may say this of a place, after what it says of the directories above.
func (d dice) fits(p, word string, said map[string]string) bool {
	if !strings.HasPrefix(p, "/") {
		return true
	}
	needs := strings.HasPrefix(word, "COPY") || strings.HasPrefix(word, "LINK") || strings.HasPrefix(word, "MKDIR") ||
		strings.Contains(word, "create=true")
	for up := path.Dir(p); up != "/srv" && up != "/etc"; up = path.Dir(up) {
		is := strings.Fields(said[up] + " none")[0]
		if is != "MKDIR" && (needs || is != "none" && is != "META") {
			return false
		}
	}
	return true
}

// word draws what a list says of one place.
func (d dice) word(p string) string {
	if !strings.HasPrefix(p, "/") {
		return d.command(p)
	}
	if !holds(p) && *edits > 0 && d.often(*edits) {
		return d.edit(p)
	}
	n := d.IntN(100)
	switch {
	case holds(p) && n < 65:
		return "MKDIR PATH" + d.some("mode", d.mode(), 40) + d.some("owner", d.owner(), 15) + d.some("purge", "true", 40)
	case holds(p) && n < 80, n < 12:
		return "RM PATH"
	case n < 45:
		return "COPY " + d.content(p, "c") + " PATH" + d.some("mode", d.mode(), 30) + d.some("owner", d.owner(), 20)
	case n < 55:
		return "LINK " + d.of("f", "../x", "/etc/a.conf") + " PATH"
	case n < 58:
		return "META PATH mode=" + d.mode() + d.some("owner", d.owner(), 50)
	case n < 85 && (strings.HasPrefix(p, "/etc") || d.often(25)):
		return d.edit(p)
	}
	return ""
}

func (d dice) some(key, value string, percent int) string {
	if d.often(percent) {
		return " " + key + "=" + value
	}
	return ""
}

// edit draws one or two regions of a file, and perhaps its metadata.
func (d dice) edit(p string) string {
	tail := d.some("create", "true", 60)
	if d.often(20) {
		tail = " ensure=absent"
	}
	value := func(text string) string {
		if tail == " ensure=absent" {
			return ""
		}
		return " value=" + text
	}
	out := ""
	switch path.Ext(p) {
	case ".ini":
		out = "EDIT PATH key=" + d.of("s.k", "s.new", "n.k") + value(d.of("1", "two")) + " format=ini" + tail
	case ".json":
		out = "EDIT PATH key=" + d.of("a.b", "a.new", "n.k") + value(d.of("1", "true")) + " format=json" + tail
	default:
		out = d.of("EDIT PATH line="+d.of("a=1", "a=7")+" match=^a=", "EDIT PATH line="+d.of("plain", "b=2"),
			"EDIT PATH key=z"+value(d.of("1", "5"))) + tail
		if d.often(30) {
			out += "\nEDIT PATH block=k" + strings.ReplaceAll(value(`"in\nblock\n"`), " value=", " content=") + tail
		}
	}
	if d.often(15) {
		out += "\nMETA PATH mode=" + d.mode()
	}
	return out
}

func (d dice) command(name string) string {
	switch d.IntN(5) {
	case 0, 1:
		return ""
	case 2:
		return "EXEC " + name + " /h run " + name + ` unless="/h has ` + d.of(places()...) + `"`
	}
	return "EXEC " + name + " /h run " + name + d.of("", "", " x")
}

// list is what is said, in order; commands are at random places.
func (d dice) list(said map[string]string) []string {
	var out []string
	for _, p := range places() {
		for line := range strings.Lines(said[p]) {
			out = append(out, strings.TrimSpace(strings.ReplaceAll(line, "PATH", p)))
		}
	}
	for _, name := range []string{"m1", "m2"} {
		if said[name] != "" {
			out = slices.Insert(out, d.IntN(len(out)+1), said[name])
		}
	}
	return out
}

// ops draws the operations. Lists come mostly in their order, but any may come again.
func (d dice) ops(lists int) []string {
	out, next := []string{"apply 1"}, 2
	for range 4 + d.IntN(8) {
		n := d.IntN(100)
		switch {
		case n < 36:
			v := next
			if v > lists || d.often(25) {
				v = 1 + d.IntN(lists)
			} else {
				next++
			}
			out = append(out, fmt.Sprintf("apply %d%s", v, d.how()))
		case n < 64:
			out = append(out, "rollback "+d.of("1", "1", "2", "2", "3", "4", "origin", "origin"))
		case n < 90:
			out = append(out, d.byHand())
		case n < 93:
			out = append(out, fmt.Sprintf("plan %d", 1+d.IntN(lists)))
		case n < 96:
			out = append(out, "drift")
		default:
			out = append(out, fmt.Sprintf("gc %d", 1+d.IntN(2)))
		}
	}
	return out
}

// how draws what happens to an apply.
func (d dice) how() string {
	name := d.of("m1", "m2")
	switch d.IntN(12) {
	case 0:
		return " fail " + name
	case 1:
		return " undo fail " + name
	case 2:
		return " kill " + name
	case 3:
		return fmt.Sprintf(" killed-at %d", 1+d.IntN(60))
	}
	return ""
}

// byHand draws what others do.
func (d dice) byHand() string {
	p := d.of(places()...)
	switch d.IntN(9) {
	case 0, 1:
		return "write " + p + " " + d.content(p, "h")
	case 2, 3:
		return "file " + p + " " + d.content(p, "h") + " " + d.mode() + " " + d.owner()
	case 4:
		return "chmod " + p + " " + d.mode()
	case 5:
		return "chown " + p + " " + d.owner()
	case 6:
		return "rm " + p
	case 7:
		return d.of("link "+p+" f", "dir "+p, "dir "+p+" 0700 1")
	}
	// A file that no list has.
	return "file " + d.of("/srv/t", "/srv/t/d", "/srv/u", "/srv/t/d/e") + "/" + d.of("foreign", "other") + " h0"
}
