package membership_test

import (
	"testing"

	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/kind/kindtest"
	"fettle.dev/fettle/internal/kind/membership"
)

func TestGolden(t *testing.T) {
	kinds := []kind.Kind{membership.Kind()}
	kindtest.Documented(t, kinds)
	kindtest.Run(t, kindtest.Options{Kinds: kinds})
}
