package local

import (
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	maxDirs = 64
	maxGone = 16
	// dirAge limits how long a directory that another process renamed or replaced is still read
	// under its old name. Writers never use the cache.
	dirAge = time.Second
	// goneAge is the same limit for a missing directory. It is shorter, because waiting for a new
	// file is common.
	goneAge = 10 * time.Millisecond
)

// dir is an open directory. It is closed when its last user releases it.
type dir struct {
	fd     int
	since  time.Time
	linked bool // links were followed on the way here
	cache  *dirCache
	refs   int // guarded by cache.mu
}

func (d *dir) release() {
	d.cache.mu.Lock()
	defer d.cache.mu.Unlock()
	d.cache.unref(d)
}

// dirCache keeps directories that were reached without any link by their path.
// The zero value is empty and ready.
type dirCache struct {
	mu   sync.Mutex
	dirs map[string]*dir
	gen  uint64 // moves with each drop, so that a lookup that raced with it is not kept
	// gone are missing directories, with the time of the lookup: a caller that looks up one name in
	// a directory usually looks up the next. Any change by this process clears it.
	gone map[string]time.Time
}

// isGone reports whether a directory was recently missing.
func (c *dirCache) isGone(path string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, known := c.gone[path]
	return known && time.Since(at) <= goneAge
}

// setGone keeps that a directory was not there at generation gen.
func (c *dirCache) setGone(path string, gen uint64, since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if gen != c.gen {
		return
	}
	if c.gone == nil || len(c.gone) >= maxGone {
		c.gone = make(map[string]time.Time, maxGone)
	}
	c.gone[path] = since
}

// get returns an open directory, or the generation to pass to put.
func (c *dirCache) get(path string) (*dir, uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.dirs[path]
	if d == nil {
		return nil, c.gen
	}
	if time.Since(d.since) > dirAge {
		c.forget(path)
		return nil, c.gen
	}
	d.refs++
	return d, c.gen
}

// put keeps a directory that was looked up at generation gen.
func (c *dirCache) put(path string, d *dir, gen uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if gen != c.gen || c.dirs[path] != nil {
		return
	}
	if c.dirs == nil {
		c.dirs = make(map[string]*dir, maxDirs)
	}
	if len(c.dirs) >= maxDirs {
		c.forget(c.oldest())
	}
	c.dirs[path] = d
	d.refs++
}

// came clears the cached absences after a change created a file. A path below a file gives a different
// error from a path below a missing directory.
func (c *dirCache) came() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.gone) > 0 {
		c.gen++
		clear(c.gone)
	}
}

// drop forgets a path and everything below it.
func (c *dirCache) drop(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gen++
	clear(c.gone)
	below := strings.TrimSuffix(path, "/") + "/"
	for p := range c.dirs {
		if p == path || strings.HasPrefix(p, below) {
			c.forget(p)
		}
	}
}

func (c *dirCache) dropAll() { c.drop("/") }

func (c *dirCache) oldest() string {
	var found string
	for p, d := range c.dirs {
		if found == "" || d.since.Before(c.dirs[found].since) {
			found = p
		}
	}
	return found
}

func (c *dirCache) forget(path string) {
	c.unref(c.dirs[path])
	delete(c.dirs, path)
}

func (c *dirCache) unref(d *dir) {
	if d.refs--; d.refs == 0 {
		_ = unix.Close(d.fd)
	}
}
