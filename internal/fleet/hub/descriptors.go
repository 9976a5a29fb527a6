package hub

import (
	"context"
	"net/http"
	"time"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/bus/agentconn"
)

// Limits of the shares of a hub's file descriptors.
const (
	defaultDescriptors = 65536
	mostReserved       = 4096
	mostHTTPS          = 4096
	mostStrangers      = 1024
	strangerPatience   = 10 * time.Second
	agentQueue         = time.Second
)

// budgets divides the file descriptors that a process may have. A quarter is reserved for the
// store, the read model, root's socket and git. HTTPS has a quarter of the rest, and agents have
// all others.
func budgets(descriptors int) (https, agents agentconn.Budget) {
	if descriptors <= 0 {
		descriptors = defaultDescriptors
	}
	rest := descriptors - min(descriptors/4, mostReserved)
	web := min(rest/4, mostHTTPS)
	https, agents = budgetOf(web, web/2), budgetOf(rest-web, (rest-web)/4)
	agents.Queue = agentQueue
	return https, agents
}

func budgetOf(most, strangers int) agentconn.Budget {
	return agentconn.Budget{Most: max(1, most), Strangers: max(1, min(strangers, mostStrangers)), Patience: strangerPatience}
}

type headerKey struct{}

// limited lets a connection answer one request of a client that has not authenticated, and then
// closes it, so that a stranger cannot keep it. A client certificate was verified in the handshake.
func limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c := agentconn.OfContext(r.Context()); c != nil {
			if c.Answered(); r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
				c.Authenticated()
			}
			if c.Stranger() {
				w.Header().Set("Connection", "close")
				r = r.WithContext(context.WithValue(r.Context(), headerKey{}, w.Header()))
			}
		}
		next.ServeHTTP(w, r)
	})
}

// authenticate finds who calls. The connection of a valid token is kept.
func (h *Hub) authenticate(r *http.Request) (access.Who, error) {
	who, err := h.gate.Authenticate(r)
	if err != nil || who.Name == "" {
		return who, err
	}
	if c := agentconn.OfContext(r.Context()); c != nil {
		c.Authenticated()
	}
	if header, ok := r.Context().Value(headerKey{}).(http.Header); ok {
		header.Del("Connection")
	}
	return who, nil
}
