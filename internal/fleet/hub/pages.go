package hub

import (
	"net/http"

	"fettle.dev/fettle/internal/fleet/hub/users"
)

// withPages adds the pages for browsers at all paths that are not of the API.
func (h *Hub) withPages(routes, api http.Handler) http.Handler {
	if h.conf.Pages == nil {
		return routes
	}
	b := users.Browsers{Accounts: &h.users, Authenticate: h.authenticate, CountFailure: h.gate.CountFailure,
		Audit: h.trail.Append, MayChange: h.members.MayChange, Provider: h.gate.OIDC, URLs: h.set.HubURLs}
	mux := http.NewServeMux()
	for _, path := range []string{"/v1/", "/healthz", "/readyz", "/metrics"} {
		mux.Handle(path, routes)
	}
	mux.Handle("/", h.conf.Pages(Pages{API: api, SignIn: b.SignIn, SignOut: b.SignOut,
		Provider: b.ProviderName(), StartSignIn: b.StartSignIn, FinishSignIn: b.FinishSignIn,
		Changed: h.view.Changed}))
	return mux
}
