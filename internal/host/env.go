package host

import (
	"context"
	"slices"
)

// envKey is the key of a context value.
type envKey struct{}

// WithEnv returns a context whose commands get variables in addition to their own, as NAME=VALUE. A variable of the
// command has precedence.
func WithEnv(ctx context.Context, env []string) context.Context {
	return context.WithValue(ctx, envKey{}, slices.Concat(EnvOf(ctx), env))
}

// EnvOf returns the variables of WithEnv.
func EnvOf(ctx context.Context) []string {
	env, _ := ctx.Value(envKey{}).([]string)
	return env
}
