// Package plan decides by the clock and by chance.
package plan

import (
	"math/rand/v2"
	"net/http"
	"regexp"
	"sync"
	"time"
)

var (
	last  time.Time
	seen  = map[string]int{}
	guard sync.Mutex
	n     int
	word  = regexp.MustCompile(`^w$`)
)

func init() { n = 1 }

// Make remembers.
func Make() {
	guard.Lock()
	last = time.Now()
	seen["x"]++
	delete(seen, "x")
	go http.Get("http://localhost/")
	p := &n
	*p = rand.Int()
}
