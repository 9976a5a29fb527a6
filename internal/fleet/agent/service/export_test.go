package service

import "context"

// Look requests all due certificates once.
func Look(ctx context.Context, k *Keeper, poked bool) { k.look(ctx, poked) }
