package api_test

import (
	"slices"

	"fettle.dev/fettle/internal/fleet/route"
)

// rowOf returns the row of a route by its name.
func rowOf(name string) route.Row {
	all := route.All()
	return all[slices.IndexFunc(all, func(r route.Row) bool { return r.Name() == name })]
}

// requests contains one valid request for each route, in an order in which all succeed.
var requests = []struct{ route, path, body string }{
	{"GET /healthz", "/healthz", ""},
	{"GET /readyz", "/readyz", ""},
	{"GET /metrics", "/metrics", ""},
	{"GET /v1/openapi.json", "/v1/openapi.json", ""},
	{"GET /v1/whoami", "/v1/whoami", ""},
	{"GET /v1/health", "/v1/health", ""},
	{"GET /v1/status", "/v1/status", ""},
	{"GET /v1/repositories", "/v1/repositories", ""},
	{"GET /v1/targets", "/v1/targets?select=label:env%3Dprod&select=web2&sort=-state&limit=5&all=true", ""},
	{"GET /v1/targets/{target}", "/v1/targets/web2", ""},
	{"GET /v1/targets/{target}/modules/{module}", "/v1/targets/web2/modules/web", ""},
	{"POST /v1/targets/{target}/approve", "/v1/targets/db1/approve", "{}"},
	{"POST /v1/targets/{target}/label", "/v1/targets/web1/label", `{"set":{"tier":"1"},"remove":["env"]}`},
	{"POST /v1/targets/{target}/pin", "/v1/targets/web1/pin", `{"ref":"fix-tls","module":"web","for_ns":3600000000000}`},
	{"POST /v1/targets/{target}/unpin", "/v1/targets/web1/unpin", `{"module":"web"}`},
	{"POST /v1/targets/{target}/freeze", "/v1/targets/web1/freeze", `{"reason":"migration"}`},
	{"POST /v1/targets/{target}/unfreeze", "/v1/targets/web1/unfreeze", "{}"},
	{"POST /v1/freeze", "/v1/freeze", `{"reason":"a wrong commit","for_ns":3600000000000}`},
	{"POST /v1/unfreeze", "/v1/unfreeze", "{}"},
	{"POST /v1/targets/{target}/suspect", "/v1/targets/web1/suspect", `{"reason":"disk errors"}`},
	{"POST /v1/targets/{target}/trust", "/v1/targets/web1/trust", "{}"},
	{"GET /v1/requests", "/v1/requests", ""},
	{"POST /v1/certificates/revoke", "/v1/certificates/revoke", `{"serial":"1f","reason":"stolen"}`},
	{"GET /v1/certificates", "/v1/certificates", ""},
	{"GET /v1/requests/policy", "/v1/requests/policy", ""},
	{"POST /v1/requests/policy", "/v1/requests/policy", `{"what":"suspect","answer":"allow"}`},
	{"POST /v1/targets/{target}/requests/{request}/approve", "/v1/targets/web1/requests/suspect/approve", "{}"},
	{"POST /v1/targets/{target}/requests/{request}/reject", "/v1/targets/web1/requests/suspect/reject", `{"reason":"no"}`},
	{"POST /v1/targets/{target}/look", "/v1/targets/web1/look", "{}"},
	{"POST /v1/targets/{target}/work", "/v1/targets/web1/work", `{"command":"run -t web1 -- uptime"}`},
	{"GET /v1/modules", "/v1/modules", ""},
	{"GET /v1/modules/{module}", "/v1/modules/modules%2Fweb?limit=1", ""},
	{"GET /v1/exports", "/v1/exports", ""},
	{"GET /v1/events", "/v1/events?kind=applied&kind=failed&since=2026-11-21T00:00:00Z&target=web1", ""},
	{"GET /v1/events/follow", "/v1/events/follow?limit=2", ""},
	{"GET /v1/alarms", "/v1/alarms", ""},
	{"GET /v1/check", "/v1/check", ""},
	{"POST /v1/backup", "/v1/backup", "{}"},
	{"POST /v1/backup/saved", "/v1/backup/saved", `{"at":1763769600000000000}`},
	{"POST /v1/alarms/approve", "/v1/alarms/approve", `{"digest":"sha256:aa"}`},
	{"POST /v1/notifications", "/v1/notifications",
		`{"name":"ops","on":["failed"],"webhook":{"url":"https://example.org/hook"}}`},
	{"POST /v1/notifications/{rule}/test", "/v1/notifications/ops/test", "{}"},
	{"POST /v1/notices/{notice}/approve", "/v1/notices/n1/approve", "{}"},
	{"POST /v1/notices/{notice}/reject", "/v1/notices/n2/reject", "{}"},
	{"GET /v1/notifications", "/v1/notifications", ""},
	{"POST /v1/notifications/{rule}/remove", "/v1/notifications/ops/remove", "{}"},
	{"POST /v1/jobs", "/v1/jobs", `{"what":"apply","select":["web*"]}`},
	{"GET /v1/jobs", "/v1/jobs", ""},
	{"GET /v1/jobs/{job}", "/v1/jobs/q1", ""},
	{"POST /v1/jobs/{job}/cancel", "/v1/jobs/q1/cancel", "{}"},
	{"GET /v1/rollouts", "/v1/rollouts", ""},
	{"GET /v1/rollouts/{rollout}", "/v1/rollouts/r2", ""},
	{"POST /v1/rollouts/{rollout}/order", "/v1/rollouts/r2/order",
		`{"action":"skip","target":"web1","reason":"it is broken"}`},
	{"POST /v1/binaries", "/v1/binaries",
		`{"select":["web*"],"binary":{"version":"1.2","files":{"amd64":{"digest":"sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","size":1}}}}`},
	{"GET /v1/binaries", "/v1/binaries", ""},
	{"POST /v1/tokens", "/v1/tokens", `{"fleet":"prod","labels":{"role":"web"},"uses":20,"expires_ns":3600000000000}`},
	{"GET /v1/tokens", "/v1/tokens", ""},
	{"GET /v1/hubs", "/v1/hubs", ""},
	{"GET /v1/audit", "/v1/audit?limit=2", ""},
	{"POST /v1/hubs/{hub}/retire", "/v1/hubs/hub2/retire", `{"reason":"old"}`},
	{"POST /v1/tokens/{token}/revoke", "/v1/tokens/k1/revoke", "{}"},
	{"POST /v1/users", "/v1/users", `{"name":"ann","roles":["read"]}`},
	{"GET /v1/users", "/v1/users", ""},
	{"POST /v1/users/{user}/login", "/v1/users/ann/login", `{"expires_ns":3600000000000}`},
	{"GET /v1/users/{user}/logins", "/v1/users/ann/logins", ""},
	{"POST /v1/users/{user}/logins/{login}/revoke", "/v1/users/ann/logins/p1/revoke", `{"reason":"lost"}`},
	{"POST /v1/targets/{target}/retire", "/v1/targets/web2/retire", "{}"},
	{"POST /v1/targets/{target}/revoke", "/v1/targets/web1/revoke", `{"reason":"stolen"}`},
}
