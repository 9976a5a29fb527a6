package content

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// HistoryClient returns the client of a request, a name by which its requests are counted, and the
// commits whose history it may read. nil permits no commit.
type HistoryClient func(*http.Request) (client string, may func(commit string) bool)

// perHistoryClient is the number of concurrent requests of one client.
const perHistoryClient = 2

// ServeHTTP implements http.Handler, for GET of HistoryPath + commit. An agent distinguishes two
// statuses: after 503 it tries again, and 422 means that this hub cannot deliver the history.
func (h *Histories) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(HistoryHeader, "1")
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", "GET")
		http.Error(w, "a history can only be read: GET", http.StatusMethodNotAllowed)
		return
	}
	client, may := h.Client(r)
	if may == nil {
		http.Error(w, "not allowed", http.StatusForbidden)
		return
	}
	commit, accepted, ok := historyAsked(r)
	if !ok || !may(commit) {
		http.Error(w, "there is no such commit", http.StatusNotFound)
		return
	}
	if !h.enter(client) {
		notReady(w, "too many requests at once")
		return
	}
	defer h.leave(client)
	h.serve(w, r.Context(), h.request(commit, accepted))
}

func notReady(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", "5")
	http.Error(w, why, http.StatusServiceUnavailable)
}

// historyAsked parses a request. Unknown parameters are errors.
func historyAsked(r *http.Request) (commit string, accepted []string, ok bool) {
	commit, ok = strings.CutPrefix(r.URL.Path, HistoryPath)
	q := r.URL.Query()
	accepted = q[HistoryAccepted]
	if !ok || len(q) > 1 || len(q) == 1 && len(accepted) == 0 || len(accepted) > 2 {
		return "", nil, false
	}
	for _, id := range append([]string{commit}, accepted...) {
		if _, err := namingOf(id); err != nil {
			return "", nil, false
		}
	}
	return commit, accepted, true
}

func (h *Histories) enter(client string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.clients == nil {
		h.clients = map[string]int{}
	}
	if h.clients[client] >= perHistoryClient {
		return false
	}
	h.clients[client]++
	return true
}

func (h *Histories) leave(client string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.clients[client]--; h.clients[client] == 0 {
		delete(h.clients, client)
	}
}

// serve waits for a delivery and writes it.
func (h *Histories) serve(w http.ResponseWriter, ctx context.Context, d *delivery) {
	if d == nil {
		notReady(w, "too many histories are requested")
		return
	}
	t := time.NewTimer(cmp.Or(h.Wait, 20*time.Second))
	defer t.Stop()
	select {
	case <-d.done:
	case <-t.C:
		notReady(w, "the hub is still reading the history")
		return
	case <-ctx.Done():
		return
	}
	switch {
	case d.err == nil:
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Length", strconv.Itoa(len(d.text)))
		patient := &patientWriter{ResponseWriter: w, control: http.NewResponseController(w), stall: 30 * time.Second}
		_, _ = patient.Write(d.text) // the agent detects a history that ends too early
	case final(d.err):
		http.Error(w, d.err.Error(), http.StatusUnprocessableEntity)
	case errors.Is(d.err, context.Canceled):
		notReady(w, "the hub is stopping")
	default: // the error can contain names of files of the hub
		notReady(w, "the hub cannot read the repository; see its log")
	}
}
