package document

import (
	"errors"
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
)

// Put returns the text with the value as in to. This is a different value, none, or an earlier
// result of Find, in its original words and place. If the value already equals to, the text is
// returned unchanged.
func (d Document) Put(text string, key []step.KeyPart, absent bool, to image.Region) (string, error) {
	key = d.full(key)
	root, err := d.read(text)
	if err != nil {
		return "", err
	}
	trail, err := walk(root, key, absent || !to.Present)
	if err != nil {
		return "", err
	}
	there := len(trail) == len(key)
	switch {
	case !to.Present && !there:
		return d.emptied(text, root, to), nil
	case !to.Present:
		return d.without(text, root, trail, key, absent, to)
	case there:
		return d.replaced(text, root, trail, key, to)
	}
	return d.added(text, root, trail, key, to)
}

func (d Document) replaced(text string, root *node, trail []hop, key []step.KeyPart, to image.Region) (string, error) {
	v := trail[len(trail)-1].item().value
	if to.Source == nil && v.ofLines() && canon(v) != to.Text {
		return "", fmt.Errorf("%s is a table or section, which fettle cannot replace as a whole; name a key in it",
			step.JoinKey(key))
	}
	source := ""
	switch same := canon(v) == to.Text; {
	case to.Source != nil:
		source = to.Source.Text
	case same:
		return text, nil
	default:
		source = d.write(to.Text, v)
	}
	return d.checked(root, text[:v.start]+source+text[v.end:], key, to.Text)
}

// added inserts a missing value: at its old place if that is known, otherwise at the place of a new
// value.
func (d Document) added(text string, root *node, trail []hop, key []step.KeyPart, to image.Region) (string, error) {
	source := d.write(to.Text, nil)
	if to.Source != nil {
		if old, ok := d.restored(text, root, key, to.Source.Cut); ok {
			for _, words := range []string{to.Source.Text, source} { // the value can be a new one in its old place
				if after, err := d.checked(root, d.reworded(old, key, words), key, to.Text); err == nil {
					return after, nil
				}
			}
		}
	}
	after, err := d.insert(text, root, trail, key, source)
	if err != nil {
		return "", err
	}
	return d.checked(root, after, key, to.Text)
}

// reworded returns the text with different source text for a value. A place can be recorded later
// than its source text, after the value changed.
func (d Document) reworded(text string, key []step.KeyPart, words string) string {
	root, err := d.parse(text)
	if err != nil {
		return text
	}
	trail, err := walk(root, key, false)
	if err != nil || len(trail) < len(key) {
		return text
	}
	v := trail[len(trail)-1].item().value
	return text[:v.start] + words + text[v.end:]
}

// without removes a value. It also removes the parts that an earlier Put added: the bytes of the
// insertion, and new mappings that are otherwise empty. If to contains the earlier state, that
// state is restored, also for a step that wants no value.
func (d Document) without(text string, root *node, trail []hop, key []step.KeyPart, absent bool,
	to image.Region) (string, error) {
	depth, top := len(key)-1, d.owner(trail)
	if to.Source != nil {
		depth = min(depth, to.Source.Depth)
		if before, ok := d.before(text, root, trail, key, depth, &to.Source.Text); ok {
			return before, nil
		}
	}
	for top > depth && len(trail[top].in.items) == 1 {
		top--
	}
	if before, ok := d.before(text, root, trail, key, top, nil); ok && (!absent || to.Source != nil) {
		return before, nil // its mapping now has other content
	}
	c, ok := d.best(text, root, trail[top])
	if !ok {
		return "", fmt.Errorf("fettle cannot remove %s without other changes; remove it by hand", step.JoinKey(key))
	}
	after, err := d.checkedWithout(root, c.of(text), key)
	if err != nil {
		return "", err
	}
	next, err := d.read(after)
	if err != nil {
		return "", err
	}
	return d.emptied(after, next, to), nil
}

// emptied is "" for a file that was not there and has nothing left in it.
func (d Document) emptied(text string, root *node, to image.Region) string {
	if to.FileAbsent && len(root.items) == 0 && strings.Trim(text, "{} \t\r\n") == "" {
		return ""
	}
	return text
}

// before returns the text for which an insertion would produce the given text. was is the source of
// the parent mapping when it was empty; nil if unknown.
func (d Document) before(text string, root *node, trail []hop, key []step.KeyPart, depth int,
	was *string) (string, bool) {
	v := trail[len(trail)-1].item().value
	ways := append(d.cuts(text, root, trail[depth]), cut{0, len(text), ""}, cut{root.start, len(text), ""},
		cut{trail[0].item().start, len(text), ""})
	for _, c := range ways {
		if c.start < 0 || c.end > len(text) || c.start > c.end {
			continue
		}
		candidate := c.of(text)
		root, err := d.parse(candidate)
		if err != nil {
			continue
		}
		trail, err := walk(root, key, false)
		if err != nil || len(trail) != depth || was != nil && bare(candidate, root, trail, key) != *was {
			continue
		}
		if again, err := d.insert(candidate, root, trail, key, text[v.start:v.end]); err == nil && again == text {
			return candidate, true
		}
	}
	return "", false
}

// best is the first way to take an item away after which the rest is as it was.
func (d Document) best(text string, root *node, at hop) (cut, bool) {
	for _, c := range d.cuts(text, root, at) {
		if c.start < 0 || c.end > len(text) || c.start > c.end {
			continue
		}
		if next, err := d.parse(c.of(text)); err == nil && canon(next) == canonBut(root, indexes(root, at)) {
			return c, true
		}
	}
	return cut{}, false
}

// indexes is the way from the root to an item.
func indexes(root *node, at hop) []int {
	if root == at.in {
		return []int{at.at}
	}
	for i, it := range root.items {
		if below := indexes(it.value, at); below != nil {
			return append([]int{i}, below...)
		}
	}
	return nil
}

// noted returns the data to restore a value at its place. The place is relative to the innermost
// mapping that remains.
func (d Document) noted(text string, root *node, trail []hop, key []step.KeyPart) *image.Cut {
	owner := d.owner(trail)
	c, ok := d.best(text, root, trail[owner])
	if !ok {
		return nil
	}
	next, err := d.parse(c.of(text))
	if err != nil {
		return nil
	}
	stays, err := walk(next, key, true)
	if err != nil {
		return nil
	}
	depth := min(owner, len(stays))
	at := trail[depth]
	out := &image.Cut{Text: text[c.start:c.end], With: c.with, Depth: depth}
	from := begins(root, at.in)
	if at.at > 0 {
		before := at.in.items[at.at-1]
		from, out.Behind = before.end, &before.key
		for _, it := range at.in.items[:at.at-1] {
			if it.key == before.key {
				out.Nth++
			}
		}
	}
	out.Skip = c.start - from
	return out
}

// begins returns the start of a mapping, including the text before its first item.
func begins(root, in *node) int {
	switch {
	case in == root:
		return 0
	case in.behind > 0:
		return in.behind
	}
	return in.start
}

// restored restores the value that noted recorded.
func (d Document) restored(text string, root *node, key []step.KeyPart, c *image.Cut) (string, bool) {
	if c == nil || c.Depth >= len(key) {
		return "", false
	}
	trail, err := walk(root, key[:c.Depth], true)
	if err != nil || len(trail) < c.Depth {
		return "", false
	}
	in := root
	if len(trail) > 0 {
		in = trail[len(trail)-1].item().value
	}
	from := begins(root, in)
	if c.Behind != nil {
		i, err := pick(in, []step.KeyPart{{Name: *c.Behind, Entry: c.Nth}})
		if err != nil || i < 0 {
			return "", false
		}
		from = in.items[i].end
	}
	at := from + c.Skip
	if at < 0 || at > len(text) || !strings.HasPrefix(text[at:], c.With) {
		return "", false
	}
	return text[:at] + c.Text + text[at+len(c.With):], true
}

var errSpoils = errors.New("the change would affect another part of the file; make it by hand")

// checked parses a changed text: the value must exist, and all other values must be unchanged.
func (d Document) checked(root *node, after string, key []step.KeyPart, want string) (string, error) {
	next, err := d.parse(after)
	if err != nil {
		return "", errSpoils
	}
	trail, err := walk(next, key, false)
	if err != nil || len(trail) < len(key) || canon(trail[len(trail)-1].item().value) != want ||
		!sameBut(root, next, key) {
		return "", errSpoils
	}
	return after, nil
}

func (d Document) checkedWithout(root *node, after string, key []step.KeyPart) (string, error) {
	next, err := d.parse(after)
	if err != nil {
		return "", errSpoils
	}
	if trail, err := walk(next, key, true); err != nil || len(trail) == len(key) || !sameBut(root, next, key) {
		return "", errSpoils
	}
	return after, nil
}

// sameBut reports whether two trees are equal, except for a key and for mappings on its path that
// only one of them has.
func sameBut(a, b *node, key []step.KeyPart) bool {
	one, err := walk(a, key, true)
	two, err2 := walk(b, key, true)
	if err != nil || err2 != nil {
		return false
	}
	n := min(len(one), len(two), len(key)-1) + 1
	return canonBut(a, follow(a, key[:n])) == canonBut(b, follow(b, key[:n]))
}

// follow is the way to an item, nil when it is not there.
func follow(n *node, key []step.KeyPart) []int {
	var out []int
	for i := range key {
		at, err := pick(n, key[:i+1])
		if err != nil || at < 0 {
			return nil
		}
		out = append(out, at)
		n = n.items[at].value
	}
	return out
}
