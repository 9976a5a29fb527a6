//go:build !fettlefault

package here

import "fettle.dev/fettle/internal/host"

// counted counts nothing.
func counted() host.OperationHook { return nil }
