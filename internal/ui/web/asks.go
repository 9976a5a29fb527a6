package web

import (
	"net/http"
	"sync"

	"fettle.dev/fettle/internal/fleet/document"
)

// Limits on questions to agents at the same time. Each uses at most a few times maxAnswer of memory.
const (
	maxAsks       = 16
	maxAsksOfUser = 4
)

// asks counts questions to agents. The zero value has none. It is safe for concurrent use.
type asks struct {
	mu    sync.Mutex
	all   int
	users map[string]int
}

// enter counts one more question, or refuses it.
func (a *asks) enter(user string) (leave func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all >= maxAsks || a.users[user] >= maxAsksOfUser {
		return nil, &document.Problem{Title: "Too many pages ask agents at the same time",
			Status: http.StatusTooManyRequests, Detail: "cannot ask an agent now: too many questions are open",
			Hint: "Load the page again in a few seconds"}
	}
	if a.users == nil {
		a.users = map[string]int{}
	}
	a.all++
	a.users[user]++
	return func() { a.leave(user) }, nil
}

func (a *asks) leave(user string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all--
	if a.users[user]--; a.users[user] == 0 {
		delete(a.users, user)
	}
}
