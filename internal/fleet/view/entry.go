package view

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// entry is a target in a list, with its state at a time. It is small, because lists sort very many of them.
type entry struct {
	*storedTarget
	state     document.State
	contact   int64
	connected bool
	key       int64 // of the order
}

func (e entry) document(now time.Time) document.Target {
	t := e.Target
	if p := e.pin; p != nil && (p.Until == 0 || p.Until > now.Unix()) {
		t.Pin = p
	}
	t.Connected, t.Contact, t.State = e.connected, e.contact, e.state
	return t
}

// order is an order of targets. Equal targets are sorted by name.
type order struct {
	name   string // as in the query
	sign   int
	key    func(entry) int64
	byName bool
}

// targetOrder returns an order for its name.
func targetOrder(name string) (order, error) {
	field, back := strings.CutPrefix(name, "-")
	o := order{name: name, sign: 1, byName: field == "name"}
	if back {
		o.sign = -1
	}
	ranks := map[document.State]int64{}
	for i, s := range document.States() {
		ranks[s] = int64(i)
	}
	none := func(entry) int64 { return 0 }
	o.key = map[string]func(entry) int64{"": none, "name": none,
		"state":   func(e entry) int64 { return ranks[e.state] },
		"contact": func(e entry) int64 { return e.contact },
		"drift":   func(e entry) int64 { return -int64(e.Drift) },
		"behind":  func(e entry) int64 { return -int64(e.Behind) },
		"changed": func(e entry) int64 { return -e.Changed }}[field]
	if o.key == nil {
		return o, queryError(fmt.Errorf(
			"cannot sort by %.40q: use name, state, contact, drift, behind or changed, with - before it for the reverse order",
			name))
	}
	return o, nil
}

func (o order) compare(a, b entry) int {
	names := cmp.Compare(a.Name, b.Name)
	if o.byName {
		names *= o.sign
	}
	return cmp.Or(o.sign*cmp.Compare(a.key, b.key), names, cmp.Compare(a.ID, b.ID))
}

// pageEnd is the content of a cursor: the last target of a page. It is valid although this target changes or leaves.
type pageEnd struct {
	Order string         `json:"order"`
	Key   int64          `json:"key"`
	Name  string         `json:"name"`
	ID    fleet.TargetID `json:"id"`
}

var errCursor = errors.New("cannot read the cursor: use the cursor of a page in the same order")

// parse returns the place of a cursor, or nil for the first page.
func (o order) parse(cursor string) (*entry, error) {
	if cursor == "" {
		return nil, nil
	}
	var p pageEnd
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || json.Unmarshal(text, &p) != nil || p.Order != o.name {
		return nil, queryError(errCursor)
	}
	return &entry{storedTarget: &storedTarget{Target: document.Target{ID: p.ID, Name: p.Name}}, key: p.Key}, nil
}

func (o order) cursor(e entry) string {
	text, err := json.Marshal(pageEnd{o.name, e.key, e.Name, e.ID})
	if err != nil {
		return "" // it has only texts and numbers
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// page adds the targets of a page, and its cursor if more targets follow.
func (o order) page(to *document.TargetPage, all []entry, after *entry, q TargetQuery) {
	for i := range all {
		all[i].key = o.key(all[i])
	}
	if after != nil {
		all = slices.DeleteFunc(all, func(e entry) bool { return o.compare(e, *after) <= 0 })
	}
	limit := q.Limit
	if limit <= 0 || limit > MaxPage {
		limit = MaxPage
	}
	offset := min(max(q.Offset, 0), len(all))
	more := offset+limit < len(all)
	shown := o.first(all, offset+limit)[offset:]
	for _, e := range shown {
		to.Targets = append(to.Targets, e.document(q.Now))
	}
	if more && len(shown) > 0 {
		to.Cursor = o.cursor(shown[len(shown)-1])
	}
}

// first returns the first n entries in order. It sorts only a few more than n.
func (o order) first(all []entry, n int) []entry {
	n = min(n, len(all))
	if n > len(all)/4 {
		slices.SortFunc(all, o.compare)
		return all[:n]
	}
	room := 2*n + 100
	best := make([]entry, 0, room)
	var worst *entry // of the n best ones so far
	for _, e := range all {
		if worst != nil && o.compare(e, *worst) >= 0 {
			continue
		}
		if best = append(best, e); len(best) == room {
			slices.SortFunc(best, o.compare)
			best = best[:n]
			last := best[n-1]
			worst = &last
		}
	}
	slices.SortFunc(best, o.compare)
	return best[:n]
}
