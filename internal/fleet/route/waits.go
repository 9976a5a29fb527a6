package route

import (
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// SignalName is the value in a path of one signal.
type SignalName struct {
	Signal string `path:"signal"`
}

func ofWaits() []Row {
	return []Row{Barriers().Row, Signals().Row, SendSignal().Row, ClearSignal().Row}
}

// Barriers lists all barriers with their members.
func Barriers() (r Route[None, None, document.BarrierPage]) {
	return r.get(access.Read, "/v1/barriers", "List barriers and the members that have arrived")
}

// Signals lists all signals that are kept.
func Signals() (r Route[None, None, document.SignalPage]) {
	return r.get(access.Read, "/v1/signals", "List signals for which states wait")
}

// SendSignal also gives a repeated signal a new time.
func SendSignal() (r Route[SignalName, document.SignalRequest, document.Done]) {
	return r.post(access.Operate, "/v1/signals/{signal}/send", "Send a signal for which states wait")
}

// ClearSignal removes the signals of a name.
func ClearSignal() (r Route[SignalName, document.ReasonRequest, document.Done]) {
	return r.post(access.Operate, "/v1/signals/{signal}/clear", "Remove the sent signals of a name")
}
