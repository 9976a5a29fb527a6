package differences

import (
	"time"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/fleet/document"
)

// mostTestTime limits the time for the tests of a repository, and mostFailed the failed tests in an answer.
const (
	mostTestTime = 10 * time.Second
	mostFailed   = 20
)

// tests runs the tests of the commit. They need no host.
func (w *work) tests() (document.TestResults, error) {
	out := document.TestResults{Failed: []document.FailedTest{}}
	if w.ctx.Err() != nil {
		out.Error = "they did not run before the time limit"
		return out, nil
	}
	t, err := w.files()
	if err != nil {
		return out, err
	}
	about := compile.About{Tree: t.files}
	ids, ds := compile.Ask(w.use(), compile.TestsQuery{About: about})
	if ds.HasErrors() {
		out.Error = clip(firstError(ds))
		return out, nil
	}
	out.Total = len(ids)
	end := time.Now().Add(mostTestTime)
	for i, id := range ids {
		if w.ctx.Err() != nil || time.Now().After(end) {
			out.NotRun = len(ids) - i
			break
		}
		v, ds := compile.Ask(w.use(), compile.TestQuery{About: about, ID: id})
		switch failures := append(ds, v.Failures...); {
		case w.ctx.Err() != nil:
			out.NotRun = len(ids) - i
			return out, nil
		case !failures.HasErrors():
			out.Passed++
		case len(out.Failed) < mostFailed:
			out.Failed = append(out.Failed, document.FailedTest{ID: id, Reason: clip(firstError(failures))})
		}
	}
	return out, nil
}
