package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// HostAPI answers the routes of the API that pages about a target use, on a machine without a hub. All fields must be
// set.
type HostAPI struct {
	Name string
	User string // the user of the pages
	// Serve returns the services of the machine for one connection.
	Serve func(context.Context) wire.Served
}

// Handler returns the handler of the routes. It has no other users: its callers have all rights on the host.
func (h HostAPI) Handler() http.Handler {
	mux := http.NewServeMux()
	answer := func(r route.Row, document any) {
		mux.HandleFunc(r.Method+" "+r.Path, func(w http.ResponseWriter, q *http.Request) { h.answer(w, q, document) })
	}
	answer(route.WhoAmI().Row, document.CurrentUser{Format: "fettle.user/1", Name: h.User,
		Rights: []string{string(access.Read), string(access.Operate)}})
	answer(route.Target().Row, document.TargetDetail{Target: document.Target{ID: fleet.TargetID(h.Name), Name: h.Name,
		Standing: fleet.Active}})
	answer(route.Events().Row, document.EventPage{})
	for _, r := range []route.Row{route.Look().Row, route.Work().Row} {
		mux.HandleFunc(r.Method+" "+r.Path, h.open)
	}
	return mux
}

// Client returns a client of the handler for each request of a browser.
func (h HostAPI) Client() func(*http.Request) (*client.Client, error) {
	handler := h.Handler()
	return func(r *http.Request) (*client.Client, error) { return client.Inside(handler, "", r), nil }
}

// known reports whether a request is about this host. Otherwise it answers.
func (h HostAPI) known(w http.ResponseWriter, r *http.Request) bool {
	if name := r.PathValue("target"); name != "" && name != h.Name {
		w.WriteHeader(http.StatusNotFound)
		writeDocument(w, document.Problem{Title: "The object does not exist", Status: http.StatusNotFound,
			Detail: fmt.Sprintf("cannot find the target %.100q: these pages show only %s", name, h.Name)})
		return false
	}
	return true
}

func (h HostAPI) answer(w http.ResponseWriter, r *http.Request, document any) {
	if h.known(w, r) {
		writeDocument(w, document)
	}
}

func writeDocument(w http.ResponseWriter, document any) {
	_ = json.NewEncoder(w).Encode(document) // if it fails, the caller is gone
}

// open turns the connection of a request into the stream of an executor.
func (h HostAPI) open(w http.ResponseWriter, r *http.Request) {
	if !h.known(w, r) {
		return
	}
	served := h.Serve(r.Context())
	served.ReadOnly = r.Pattern == route.Look().Method+" "+route.Look().Path
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, err = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n",
		document.ExecutorProtocol)
	if err != nil {
		_ = conn.Close()
		return
	}
	_ = wire.Serve(context.WithoutCancel(r.Context()), conn, served) // the client reports errors
}
