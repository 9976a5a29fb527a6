package scopes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/coordination/task"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// OnTask is called when a task changes.
func (s *Scopes) OnTask(st task.State) {
	if st.Open != nil && st.Open.Hub {
		s.own.poke()
	}
}

// attemptsEvery is the time between two searches for attempts of this hub.
const attemptsEvery = 15 * time.Second

// RunAttempts does the attempts of this hub until ctx ends, also of a hub that no longer leads. Each hub calls it. An
// attempt begins only after the store and then the disk of this hub have its begin. So it does not begin twice, and if
// the hub stops during the attempt, it reports later that the result is unknown.
func (s *Scopes) RunAttempts(ctx context.Context) error {
	if s.OnHub.Prepare == nil {
		<-ctx.Done()
		return nil
	}
	o := &s.own
	o.doing, o.accepting, o.ended = map[string]bool{}, map[uint64]bool{}, make(chan ending)
	for o.journal == nil {
		var err error
		if o.journal, err = s.OnHub.Journal.Load(); err == nil {
			break
		}
		s.Warn("cannot read the attempts of tasks, so this hub does none: " + err.Error())
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(attemptsEvery):
		}
	}
	for key, e := range o.journal {
		if !e.Ended {
			e.Ended, e.Text = true, "the hub stopped during the attempt"
			o.journal[key] = e
		}
	}
	defer func() { // each attempt that runs stops with ctx
		for len(o.doing) > 0 {
			s.ended(<-o.ended)
		}
	}()
	for {
		s.report(ctx)
		s.search(ctx)
		select {
		case <-ctx.Done():
			return nil
		case e := <-o.ended:
			s.ended(e)
		case <-o.wake:
		case <-time.After(attemptsEvery):
		}
	}
}

// ended stores the result of an attempt on the disk. Without it, the result is unknown after a restart.
func (s *Scopes) ended(e ending) {
	o := &s.own
	delete(o.doing, e.key)
	is := o.journal[e.key]
	is.Ended, is.Outcome, is.Text = true, e.outcome, e.text
	o.journal[e.key] = is
	s.save()
}

func (s *Scopes) save() bool {
	err := s.OnHub.Journal.Save(s.own.journal)
	if err != nil {
		s.Warn("cannot store an attempt of a task: " + err.Error())
	}
	return err == nil
}

// report stores the results of attempts at the hubs, and forgets attempts of tasks that were removed.
func (s *Scopes) report(ctx context.Context) {
	o, changed := &s.own, false
	for key, e := range o.journal {
		if _, _, ok := s.Records.Tasks.Get(key); !ok && e.Reported {
			delete(o.journal, key)
			changed = true
		}
		if !e.Ended || e.Reported {
			continue
		}
		_, _, err := s.decide(ctx, key, task.Event{Kind: task.End, Fence: e.Fence, Outcome: e.Outcome, Text: e.Text}, false)
		if err != nil && !errors.Is(err, fleet.ErrNotFound) {
			continue // the next search tries again
		}
		e.Reported, changed = true, true
		o.journal[key] = e
		s.Poke()
	}
	if changed {
		s.save() // otherwise, the result is reported again, which changes nothing
	}
}

// search begins the attempts that were given to this hub.
func (s *Scopes) search(ctx context.Context) {
	type found struct {
		key string
		st  task.State
	}
	var all []found
	s.Records.Tasks.Each(func(key string, f records.Formatted[task.State], _ uint64) {
		if a := f.State.Open; a != nil && a.Hub && a.Name == s.OnHub.Hub {
			all = append(all, found{key, f.State})
		}
	})
	for _, x := range all {
		a, e := *x.st.Open, s.own.journal[x.key]
		if s.own.doing[x.key] || e.Fence >= a.Fence || len(s.own.doing) == maxDoing || ctx.Err() != nil {
			continue
		}
		outcome, text := fleet.TaskRefused, ""
		switch w, err := s.accept(ctx, x.st, a); {
		case err == nil:
			s.start(ctx, x.key, w)
			continue
		case ctx.Err() != nil:
			return
		case errors.Is(err, errNotStored):
			continue // the mirror shows later whether this hub accepted it
		case errors.Is(err, errAcceptedBefore):
			outcome, text = "", err.Error()
		default:
			text = err.Error()
		}
		if _, _, err := s.decide(ctx, x.key, task.Event{Kind: task.End, Fence: a.Fence, Outcome: outcome, Text: text},
			false); err != nil && ctx.Err() == nil {
			s.Warn(err.Error())
		}
	}
}

var (
	errNotStored      = errors.New("the begin could not be stored")
	errAcceptedBefore = errors.New("this hub accepted the attempt, and its disk does not have the begin")
)

// accept prepares an attempt, and stores that it begins: first at the hubs, then on the disk. After an error, the
// command did not begin.
func (s *Scopes) accept(ctx context.Context, st task.State, a task.Attempt) (Work, error) {
	o, key := &s.own, st.Scope+"/"+st.Task
	switch {
	case a.Accepted && !o.accepting[a.Fence]:
		return Work{}, errAcceptedBefore
	case s.Now().UnixMilli() > a.Expires:
		return Work{}, errors.New("the attempt expired before the command began")
	}
	if why := s.OnHub.unable(); why != "" {
		return Work{}, errors.New(why)
	}
	at, _, known := s.declaration()
	switch {
	case !known:
		return Work{}, errors.New("this hub no longer leads, so it has no content")
	case a.Undo && st.At == nil:
		return Work{}, errors.New("the hubs do not know the commit that declared the undo")
	case a.Undo:
		at = *st.At
	}
	w, err := s.OnHub.Prepare(ctx, at, fleet.TaskAttempt{Scope: st.Scope, Task: st.Task, Digest: a.Digest, Fence: a.Fence,
		VerifyOnly: a.VerifyOnly, Undo: a.Undo, Expires: a.Expires / 1000})
	if err != nil {
		return Work{}, err
	}
	if !a.Accepted {
		o.accepting[a.Fence] = true
		if _, answer, err := s.decide(ctx, key, task.Event{Kind: task.Accept, Fence: a.Fence}, false); err != nil {
			return Work{}, fmt.Errorf("%w: %w", errNotStored, err)
		} else if answer.Refused != "" || len(answer.Changes) == 0 {
			return Work{}, errors.New("the attempt has ended")
		}
	}
	if s.Now().UnixMilli() > a.Expires {
		return Work{}, errors.New("the attempt expired before the command began")
	}
	before, had := o.journal[key]
	o.journal[key] = Entry{Fence: a.Fence, Digest: a.Digest}
	if !s.save() {
		delete(o.journal, key)
		if had {
			o.journal[key] = before
		}
		return Work{}, errors.New("cannot store on the disk of the hub that it begins")
	}
	return w, nil
}

// start does an attempt in the background.
func (s *Scopes) start(ctx context.Context, key string, w Work) {
	s.own.doing[key] = true
	go func() {
		outcome, text := s.OnHub.Do(ctx, w)
		if ctx.Err() != nil && outcome == "" {
			text = "the hub stopped during the attempt"
		}
		s.own.ended <- ending{key, w.Attempt.Fence, outcome, text} // RunAttempts takes it, also when it ends
	}()
}
