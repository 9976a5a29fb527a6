package local

import (
	"os"
	"strings"
)

// BootID implements host.Host. It is "" for another root, which the local host did not boot.
func (h *Host) BootID() string {
	if h.root != "/" {
		return ""
	}
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}
