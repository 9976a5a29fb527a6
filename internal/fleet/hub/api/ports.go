package api

import (
	"context"
	"net/http"

	"fettle.dev/fettle/internal/fleet/access"
)

// Rights returns all rights that routes can need.
func Rights() []access.Right {
	return []access.Right{access.Read, access.Operate, access.Approve, access.Admin}
}

// Authenticate returns the user of a request; *access.Gate implements it. An error causes the
// status 401 with its text.
type Authenticate func(*http.Request) (access.Principal, error)

// Audit records an operation; *access.Trail implements it. Before each change it is called with the
// outcome access.Begun; if this fails, the change is refused. After the change it is called with
// the outcome. In the first call, Entry.Reason is the request as JSON.
type Audit func(ctx context.Context, e access.Entry) error

// Refusal is an error of a hub with an HTTP status and a hint.
type Refusal struct {
	Status int // 400 to 499
	Why    string
	Hint   string
}

func (r *Refusal) Error() string { return r.Why }
