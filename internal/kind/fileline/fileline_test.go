package fileline_test

import (
	"testing"

	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/kind/fileline"
	"fettle.dev/fettle/internal/kind/kindtest"
)

func TestGolden(t *testing.T) {
	kinds := []kind.Kind{fileline.Kind()}
	kindtest.Documented(t, kinds)
	kindtest.Run(t, kindtest.Options{Kinds: kinds})
}
