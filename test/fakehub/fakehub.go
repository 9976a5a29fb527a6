// Package fakehub answers the routes of a hub with invented documents, for tests of pages.
//
//	c, err := Serve(t, Hostile{Rights: []string{"read"}})
//	site := web.New(web.Config{Client: func(*http.Request) (*client.Client, error) { return c, nil }})
package fakehub

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// Attack is a text that a page must show as it is. It would add elements, attributes and scripts to a page that does
// not escape it for its place.
const Attack = `</script></title>"'><img src=x onerror=alert(1)>javascript:alert(1)` + "`{{.}}&amp;\x07\u202e"

// Hostile answers each route with a document in which all texts are equal, and each list has two items.
type Hostile struct {
	Rights []string // of the user
	Text   string   // "" means Attack
}

// ServeHTTP answers the routes of the API.
func (h Hostile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") != "" {
		Host{h, hostileHost{text: cmp.Or(h.Text, Attack)}, nil}.ServeHTTP(w, r)
		return
	}
	row, ok := find(r)
	if !ok {
		http.NotFound(w, r)
		return
	}
	out := reflect.New(reflect.TypeOf(row.Out))
	fill(out.Elem(), cmp.Or(h.Text, Attack), 0)
	switch d := out.Interface().(type) {
	case *document.CurrentUser:
		d.Rights, d.Organization = h.Rights, "" // pages of the whole fleet
	case *document.TargetPage:
		d.Targets[0].Standing, d.Targets[0].State = fleet.Pending, document.Failed
	case *document.ScopeDetail:
		d.Checks[1].Name += "2" // the names are different
		d.Tasks[1].Task += "2"
	case *document.RolloutDetail:
		d.Rollout.Phase, d.Rollout.Wave = "active", 0
	}
	answer(w, out.Interface())
}

// Crowded answers each route with a document whose lists have N items if they grow with the number of targets. Other
// lists have up to 100. The limit of a request applies. The user has all rights.
type Crowded struct{ N int }

// ServeHTTP answers the routes of the API.
func (c Crowded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	row, ok := find(r)
	if !ok {
		http.NotFound(w, r)
		return
	}
	n := c.N
	if limit, _ := strconv.Atoi(r.URL.Query().Get("limit")); limit > 0 {
		n = min(n, limit)
	}
	out := reflect.New(reflect.TypeOf(row.Out))
	switch row.Out.(type) {
	case document.TargetPage, document.ModuleDetail, document.EventPage, document.JobPage,
		document.Job, document.AuditPage, document.RolloutDetail, document.ScopeDetail,
		document.TaskPage, document.AlarmPage, document.RequestPage, document.ExemptionPage:
	default:
		n = min(n, 100)
	}
	crowd(out.Elem(), "item", n)
	switch d := out.Interface().(type) {
	case *document.CurrentUser:
		d.Rights, d.Organization = []string{"admin", "approve", "operate", "read"}, "" // pages of the whole fleet
	case *document.Job:
		for i := range d.Targets {
			d.Targets[i].State = document.JobDone
		}
	case *document.ScopeDetail:
		d.Checks, d.Tasks = d.Checks[:1], d.Tasks[:1] // only the members are many
	}
	answer(w, out.Interface())
}

// Large answers the routes of the fleet page with N targets in all states.
type Large struct{ N int }

// ServeHTTP answers the routes of the fleet page, and others with empty documents.
func (l Large) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	row, ok := find(r)
	if !ok {
		http.NotFound(w, r)
		return
	}
	out := reflect.New(reflect.TypeOf(row.Out)).Interface()
	switch d := out.(type) {
	case *document.CurrentUser:
		d.Name, d.Rights = "jane", []string{"read"}
	case *document.TargetPage:
		l.page(d, r.URL.Query())
	}
	answer(w, out)
}

// page answers a request for targets. A cursor is the number of the targets before it.
func (l Large) page(d *document.TargetPage, q url.Values) {
	d.Total = l.N
	begin, _ := strconv.Atoi(q.Get("after"))
	limit, _ := strconv.Atoi(q.Get("limit"))
	if limit == 0 {
		limit = 10_000
	}
	end := min(l.N, begin+limit)
	for i := begin; i < end; i++ {
		d.Targets = append(d.Targets, l.target(i))
	}
	if end < l.N {
		d.Cursor = strconv.Itoa(end)
	}
	by, ok := strings.CutPrefix(q.Get("by"), "label:")
	if q.Get("by") == "" {
		return
	}
	d.Labels, d.States = []string{"site"}, map[document.State]int{}
	groups := map[string]*document.TargetGroup{}
	for i := range l.N {
		t := l.target(i)
		d.States[t.State]++
		name := t.Labels[by]
		if groups[name] == nil {
			groups[name] = &document.TargetGroup{Name: name, States: map[document.State]int{}}
		}
		groups[name].Total++
		groups[name].States[t.State]++
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		if ok {
			d.Groups = append(d.Groups, *groups[name])
		}
	}
}

func (l Large) target(i int) document.Target {
	states := document.States()
	return document.Target{Name: fmt.Sprintf("host%05d", i), State: states[i%len(states)],
		Labels: map[string]string{"site": fmt.Sprint("site", i%7)}}
}

// Serve returns a client of a hub that answers with h.
func Serve(t testing.TB, h http.Handler) *client.Client {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "hub")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: h}}
	s.Start()
	t.Cleanup(s.Close)
	c, err := client.New(client.Login{Hub: "unix://" + socket})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// find returns the route of a request.
func find(r *http.Request) (route.Row, bool) {
	var parts []string
	for part := range strings.SplitSeq(strings.Trim(r.URL.EscapedPath(), "/"), "/") {
		plain, err := url.PathUnescape(part)
		if err != nil {
			return route.Row{}, false
		}
		parts = append(parts, plain)
	}
	for _, row := range route.All() {
		if _, ok := row.Match(parts); ok && row.Method == r.Method && row.Out != nil {
			return row, true
		}
	}
	return route.Row{}, false
}

func answer(w http.ResponseWriter, doc any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(doc) // if it fails, the client is gone
}
