package local

import "fettle.dev/fettle/internal/host"

// Accounts implements host.Host.
func (h *Host) Accounts() host.Accounts { return nil }
