package apitest

import (
	"context"
	"slices"
	"strconv"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// Programs are those that were set, the latest first.
func (h *Hub) Programs(context.Context) ([]document.Programmed, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]document.Programmed{}, h.programs...), nil
}

// SetProgram keeps one.
func (h *Hub) SetProgram(_ context.Context, by access.Who, r document.ProgramRequest, _ []fleet.TargetID) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := document.Programmed{ID: "p" + strconv.Itoa(len(h.programs)+1), At: Now().UnixNano(), By: by.Name, Select: r.Select, Program: r.Program}
	h.programs = slices.Insert(h.programs, 0, p)
	return nil
}
