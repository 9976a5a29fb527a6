package executors

import (
	"fmt"
	"sync"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/api"
)

// Limits on executors that are open through one hub at once. Each uses at most a few hundred
// kilobytes of the hub, and an agent serves only a few dozen.
const (
	maxOpen         = 1024
	maxOpenOfUser   = 200
	maxOpenOnTarget = 8 // of one user
	// Runs are read completely before they are sent. Each uses at most a few times maxRun of memory.
	maxReads       = 16
	maxReadsOfUser = 4
	maxRun         = 16 << 20 // bytes of one message of an agent
)

// opened counts open executors. The zero value has none. It is safe for concurrent use.
type opened struct {
	mu    sync.Mutex
	all   int
	users map[string]int
	pairs map[[2]string]int
}

// enter counts one more executor, or returns a refusal. Calls of leave after the first have no
// effect.
func (o *opened) enter(user string, id fleet.TargetID) (leave func(), err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	pair := [2]string{user, string(id)}
	switch {
	case o.all >= maxOpen:
		return nil, &api.Refusal{Status: api.TooMany,
			Why:  fmt.Sprintf("cannot open another executor: %d are open through this hub", o.all),
			Hint: "Try again later, or use another hub"}
	case o.users[user] >= maxOpenOfUser:
		return nil, &api.Refusal{Status: api.TooMany,
			Why:  fmt.Sprintf("cannot open another executor: %s has %d open", user, o.users[user]),
			Hint: "Work on fewer targets at once: --parallel NUMBER"}
	case o.pairs[pair] >= maxOpenOnTarget:
		return nil, &api.Refusal{Status: api.TooMany,
			Why:  fmt.Sprintf("cannot open another executor: %s has %d open on this target", user, o.pairs[pair]),
			Hint: "Close one of them and try again"}
	}
	if o.users == nil {
		o.users, o.pairs = map[string]int{}, map[[2]string]int{}
	}
	o.all++
	o.users[user]++
	o.pairs[pair]++
	return sync.OnceFunc(func() { o.leave(user, pair) }), nil
}

func (o *opened) leave(user string, pair [2]string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all--
	if o.users[user]--; o.users[user] == 0 {
		delete(o.users, user)
	}
	if o.pairs[pair]--; o.pairs[pair] == 0 {
		delete(o.pairs, pair)
	}
}

// reads counts the runs that are being read. The zero value has none. It is safe for concurrent use.
type reads struct {
	mu    sync.Mutex
	all   int
	users map[string]int
}

// enter counts one more run, or returns a refusal.
func (r *reads) enter(user string) (leave func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all >= maxReads || r.users[user] >= maxReadsOfUser {
		return nil, &api.Refusal{Status: api.TooMany,
			Why:  "cannot read from another host: too many are being read through this hub",
			Hint: "Try again in a few seconds"}
	}
	if r.users == nil {
		r.users = map[string]int{}
	}
	r.all++
	r.users[user]++
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.all--
		if r.users[user]--; r.users[user] == 0 {
			delete(r.users, user)
		}
	}, nil
}
