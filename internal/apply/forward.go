package apply

import (
	"errors"
	"fmt"
)

// perform executes the operations of the machine until there are none or a step fails. An error is an
// error of the engine: the journal cannot be written.
func (r *forward) perform() error {
	for {
		op, indexes := r.machine.Next()
		if op == OpEnd && len(indexes) == 0 {
			return r.lasting()
		}
		if r.ctx.Err() != nil {
			r.interrupted()
			return nil
		}
		err := r.do(op, indexes)
		if errors.Is(err, errStopped) && r.goesOnAfter() {
			continue
		}
		if errors.Is(err, errStopped) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("run %d is interrupted; the next fettle command recovers it: %w", r.header.Run, err)
		}
	}
}

func (r *forward) do(op Op, indexes []int) error {
	switch op {
	case OpRecord:
		for _, i := range indexes {
			if err := r.adopt(i); err != nil {
				return err
			}
			r.machine.Set(i, Done)
		}
		return nil
	case OpPaths:
		return r.paths(indexes)
	case OpGroup:
		return r.transaction(indexes)
	case OpMove:
		return r.move(indexes[0])
	case OpAct:
		return r.act(indexes[0])
	case OpWait:
		return r.wait(indexes[0])
	case OpCheck:
		return r.check(indexes[0])
	}
	return fmt.Errorf("cannot execute operation %d: it is unknown", op)
}
