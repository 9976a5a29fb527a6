package machine_test

import "fettle.dev/fettle/internal/fleet/agent/machine"

func (w *world) deliver() {
	seq := w.send
	w.send = 0
	r, ok := w.outbox[seq]
	if !ok {
		w.fault("report %d is not in the outbox", seq)
		return
	}
	newest := uint64(len(w.heard))
	switch {
	case seq == newest+1:
		w.heard = append(w.heard, r)
	case seq > newest:
		w.fault("the hub is told %d after %d", seq, newest)
	}
	w.step(machine.Acked{Seq: seq})
}

func (w *world) answerAsk() {
	w.ask = false
	boot := w.boot
	if len(w.all) > 0 {
		w.step(machine.Offered{Assignment: w.all[len(w.all)-1]})
	}
	if w.boot == boot { // otherwise the power failed, and the answer has no receiver
		w.step(machine.Answered{})
	}
}
