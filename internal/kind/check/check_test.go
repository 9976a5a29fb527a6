package check_test

import (
	"testing"

	"fettle.dev/fettle/internal/kind/check"
	"fettle.dev/fettle/internal/kind/kindtest"
)

func TestGolden(t *testing.T) {
	kindtest.Documented(t, check.Kinds())
	kindtest.Run(t, kindtest.Options{Kinds: check.Kinds()})
}
