package service

import "context"

// Look asks for all that is due, once.
func Look(ctx context.Context, k *Keeper, poked bool) { k.look(ctx, poked) }
