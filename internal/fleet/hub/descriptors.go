package hub

import (
	"context"
	"net/http"
	"time"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/bus/agentconn"
)

// Limits on the shares of a hub's file descriptors.
const (
	defaultDescriptors = 65536
	mostReserved       = 4096
	mostHTTPS          = 4096
	mostStrangers      = 1024
	strangerPatience   = 10 * time.Second
	agentQueue         = time.Second
)

// budgets divides the file descriptors of a process. A quarter is reserved for the store, the read
// model, the socket of root and git. HTTPS gets a quarter of the rest, and agents get the
// remainder.
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
	return agentconn.Budget{Most: max(1, most), Strangers: max(1, min(strangers, mostStrangers)),
		Patience: strangerPatience}
}

type headerKey struct{}

// limited closes a connection after one answer if its client has not authenticated, so that a
// stranger cannot hold it. A client certificate counts, because the handshake has verified it.
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

// authenticate returns the user of a request. A valid token keeps the connection open.
func (c *core) authenticate(r *http.Request) (access.Principal, error) {
	who, err := c.gate.Authenticate(r)
	if err != nil || who.Name == "" {
		return who, err
	}
	if conn := agentconn.OfContext(r.Context()); conn != nil {
		conn.Authenticated()
	}
	if header, ok := r.Context().Value(headerKey{}).(http.Header); ok {
		header.Del("Connection")
	}
	return who, nil
}
