package here

import (
	"context"
	"os"
)

// Interrupted is the cause of a cancelled context. It is context.Canceled with
// the signal's name.
type Interrupted struct{ By os.Signal }

// Error names the signal.
func (i Interrupted) Error() string { return "interrupted by a signal (" + i.By.String() + ")" }

// Is tells that it is context.Canceled.
func (i Interrupted) Is(target error) bool { return target == context.Canceled }
