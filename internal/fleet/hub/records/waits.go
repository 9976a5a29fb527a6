package records

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet/coordination/barrier"
	"fettle.dev/fettle/internal/fleet/coordination/signal"
)

// The supported formats.
const (
	BarrierFormat = "fettle.barrier/1"
	SignalFormat  = "fettle.signal/1"
)

// Formatted is the stored state of a barrier or of a signal. Its key is its name.
type Formatted[S any] struct {
	Format string `json:"format"`
	State  S      `json:"state"`
}

// ParseBarrier decodes a barrier. An unknown format is an error: a hub must not open a barrier that it understands only
// in part.
func ParseBarrier(b []byte) (Formatted[barrier.State], error) {
	return parseFormatted[barrier.State](b, BarrierFormat)
}

// ParseSignal decodes a signal. An unknown format is an error.
func ParseSignal(b []byte) (Formatted[signal.State], error) {
	return parseFormatted[signal.State](b, SignalFormat)
}

func parseFormatted[S any](b []byte, formats ...string) (f Formatted[S], err error) {
	if err = json.Unmarshal(b, &f); err == nil && !slices.Contains(formats, f.Format) {
		err = fmt.Errorf("this version of fettle cannot read the format %.40q instead of %s", f.Format,
			strings.Join(formats, " or "))
	}
	return f, err
}
