package main

import (
	"context"

	"fettle.dev/fettle/internal/executor/here"
	"fettle.dev/fettle/internal/lang"
	"fettle.dev/fettle/internal/outside"
)

// ask asks what a lookup names, commands on this machine.
func ask(ctx context.Context, l lang.Lookup, dir string) ([]byte, error) {
	h, err := here.Root("/")
	if err != nil {
		return nil, err
	}
	defer h.Close()
	return outside.Asker{Run: h.Run}.Ask(ctx, l, dir)
}
