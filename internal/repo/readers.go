package repo

import (
	"runtime"
	"sync"
)

// readers read files at the same time, as many as there are processors. The
// zero value is ready.
type readers struct {
	begin sync.Once
	slots chan struct{}
	group sync.WaitGroup

	mu     sync.Mutex
	given  int
	failed int   // the number of the first that failed
	err    error // its error
}

// read runs one read in another goroutine when a slot is free. If an earlier read has failed by
// then, it returns that error, and the caller reads nothing more.
func (r *readers) read(one func() error) error {
	r.begin.Do(func() { r.slots = make(chan struct{}, runtime.GOMAXPROCS(0)) })
	r.slots <- struct{}{}
	r.mu.Lock()
	number, err := r.given, r.err
	r.given++
	r.mu.Unlock()
	r.group.Go(func() {
		defer func() { <-r.slots }()
		if err := one(); err != nil {
			r.note(number, err)
		}
	})
	return err
}

// note keeps the error of the earliest read, independent of which read failed first.
func (r *readers) note(number int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil || number < r.failed {
		r.failed, r.err = number, err
	}
}

// wait ends all reading and returns the error of the first failed read.
func (r *readers) wait() error {
	r.group.Wait()
	return r.err
}
