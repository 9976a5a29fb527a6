package push

import (
	"math"
	"time"

	"fettle.dev/fettle/internal/window"
)

// windows are the windows of a target. A state is valid for some time, because the evaluation is slow.
type windows struct {
	set      window.Set
	err      error // the windows cannot be used, and are closed
	state    window.State
	from, to int64 // the state is valid from one time to the other, in seconds since 1970; 0: none
}

// closed returns the reason why windows allow no change at a time, or "".
func (w *windows) closed(now int64) string {
	switch {
	case w == nil:
		return ""
	case w.err != nil:
		return w.err.Error()
	case now < w.from || now >= w.to:
		w.state = w.set.At(time.Unix(now, 0))
		w.from, w.to = now, now+3600
		if until := w.state.Until; !until.IsZero() {
			w.to = min(w.to, until.Unix())
		}
	}
	return w.state.Why
}

// opens returns the end of the present state, or math.MaxInt64 if it has none.
func (w *windows) opens() int64 {
	if w.err != nil || w.state.Until.IsZero() {
		return math.MaxInt64
	}
	return w.state.Until.Unix()
}
